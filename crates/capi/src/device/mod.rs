//! `pumice_device.h`: the drive inside another program's simulation. The header says what each function does.

mod calls;
mod handles;
mod life;
mod open;
mod status;

pub use calls::{
    CDeviceCompletion, CDeviceInfo, CDeviceRequest, pumice_device_advance, pumice_device_get_info,
    pumice_device_next_event, pumice_device_submit, pumice_device_submit_data, pumice_device_take,
    pumice_device_take_data,
};
pub use life::{pumice_device_cut, pumice_device_finish, pumice_device_restart, pumice_device_result};
pub use open::{
    CDeviceOptions, DEVICE_VERSION, pumice_device_close, pumice_device_fork, pumice_device_open,
    pumice_device_open_snapshot, pumice_device_snapshot, pumice_device_version,
};
pub use status::{DeviceStatus, pumice_device_message};
