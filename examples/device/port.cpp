// The glue between a full-system simulator and a drive, in the manner of gem5: a requester sends timing requests to a
// port, which takes them or says that it will tell when to try again, and answers with response events. The event queue
// of the simulator is a small one in this file; in gem5 it is the real one.
//
//     c++ -std=c++17 -O2 port.cpp $(pkg-config --cflags --libs pumice_device) -o port && ./port

#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include <pumice_device.h>

using Tick = std::uint64_t; // picoseconds, as in gem5
constexpr Tick TICKS_PER_NS = 1000;

/// Events in the order of time; those of one instant in the order in which they were scheduled.
class EventQueue {
public:
    Tick now() const { return now_; }
    void schedule(Tick at, std::function<void()> event) { events_.emplace(at, std::move(event)); }
    bool step()
    {
        if (events_.empty())
            return false;
        auto first = events_.begin();
        now_ = first->first;
        auto event = std::move(first->second);
        events_.erase(first);
        event();
        return true;
    }

private:
    Tick now_ = 0;
    std::multimap<Tick, std::function<void()>> events_;
};

struct Packet {
    std::uint64_t address;
    std::uint32_t bytes;
    bool isWrite;
    Tick sent;
};

/// What a requester implements.
class RequestPort {
public:
    virtual ~RequestPort() = default;
    virtual void recvTimingResp(const Packet &packet) = 0;
    virtual void recvReqRetry() = 0;
};

/// A drive behind a port with room for so many requests.
class DrivePort {
public:
    DrivePort(EventQueue &queue, RequestPort &peer, const pumice_device_options &options, std::size_t depth)
        : queue_(queue), peer_(peer), depth_(depth)
    {
        check(pumice_device_open(&options, &drive_));
    }
    ~DrivePort() { pumice_device_close(drive_); }
    DrivePort(const DrivePort &) = delete;
    DrivePort &operator=(const DrivePort &) = delete;

    std::uint64_t capacity() const
    {
        pumice_device_info info{};
        info.size = sizeof info;
        check(pumice_device_get_info(drive_, &info));
        return info.capacity_bytes;
    }

    /// Takes a request, or returns false: the peer is called when there is room again.
    bool sendTimingReq(const Packet &packet)
    {
        if (flight_.size() == depth_) {
            owesRetry_ = true;
            return false;
        }
        pumice_device_request request{};
        request.at_ns = now();
        request.offset_bytes = packet.address;
        request.bytes = packet.bytes;
        request.kind = packet.isWrite ? PUMICE_DEVICE_WRITE : PUMICE_DEVICE_READ;
        std::uint64_t id = 0;
        check(pumice_device_submit(drive_, &request, 1, &id, nullptr));
        flight_.emplace(id, packet);
        wake();
        return true;
    }

private:
    static void check(int status)
    {
        if (status != PUMICE_DEVICE_OK)
            throw std::runtime_error(pumice_device_message());
    }

    std::uint64_t now() const { return (queue_.now() + TICKS_PER_NS - 1) / TICKS_PER_NS; }

    /// Schedules an event for when the drive does something next, unless one comes by then.
    void wake()
    {
        std::uint64_t at = PUMICE_DEVICE_NEVER;
        check(pumice_device_next_event(drive_, &at));
        if (at == PUMICE_DEVICE_NEVER || at >= wakesAt_)
            return;
        wakesAt_ = at;
        queue_.schedule(at * TICKS_PER_NS, [this, at] {
            if (at == wakesAt_)
                serve();
        });
    }

    void serve()
    {
        wakesAt_ = PUMICE_DEVICE_NEVER;
        std::vector<pumice_device_completion> done(depth_);
        std::size_t count = 0;
        check(pumice_device_advance(drive_, now(), done.data(), done.size(), &count));
        for (std::size_t i = 0; i < count; i++) {
            auto found = flight_.find(done[i].id);
            Packet packet = found->second;
            flight_.erase(found);
            peer_.recvTimingResp(packet);
        }
        wake();
        if (owesRetry_ && flight_.size() < depth_) {
            owesRetry_ = false;
            peer_.recvReqRetry();
        }
    }

    EventQueue &queue_;
    RequestPort &peer_;
    std::size_t depth_;
    pumice_device drive_ = 0;
    std::unordered_map<std::uint64_t, Packet> flight_;
    std::uint64_t wakesAt_ = PUMICE_DEVICE_NEVER;
    bool owesRetry_ = false;
};

/// A processor that copies: it reads pages as fast as the port takes them, and writes each one back elsewhere.
class Copier : public RequestPort {
public:
    Copier(EventQueue &queue, std::uint64_t pages) : queue_(queue), pages_(pages) {}
    void attach(DrivePort &port)
    {
        port_ = &port;
        for (std::uint64_t page = 0; page < pages_; page++)
            waiting_.push_back({page * PAGE, PAGE, false, 0});
        queue_.schedule(0, [this] { send(); });
    }
    void recvTimingResp(const Packet &packet) override
    {
        ticks_[packet.isWrite] += queue_.now() - packet.sent;
        done_[packet.isWrite]++;
        if (!packet.isWrite)
            waiting_.push_back({packet.address + pages_ * PAGE, PAGE, true, 0});
        if (!isBlocked_)
            send();
    }
    void recvReqRetry() override
    {
        isBlocked_ = false;
        retries_++;
        send();
    }
    void report() const
    {
        for (int write = 0; write < 2; write++)
            std::printf("%s: %llu, %.1f us each\n", write ? "writes" : "reads", (unsigned long long)done_[write],
                        double(ticks_[write]) / double(done_[write]) / 1e6);
        std::printf("retries: %llu\nend: %.1f us\n", (unsigned long long)retries_, double(queue_.now()) / 1e6);
    }

private:
    static constexpr std::uint32_t PAGE = 4096;
    void send()
    {
        while (!waiting_.empty()) {
            Packet packet = waiting_.front();
            packet.sent = queue_.now();
            if (!port_->sendTimingReq(packet)) {
                isBlocked_ = true;
                return;
            }
            waiting_.pop_front();
        }
    }

    EventQueue &queue_;
    std::uint64_t pages_;
    DrivePort *port_ = nullptr;
    std::deque<Packet> waiting_;
    Tick ticks_[2] = {0, 0};
    std::uint64_t done_[2] = {0, 0}, retries_ = 0;
    bool isBlocked_ = false;
};

int main()
{
    pumice_device_options options = PUMICE_DEVICE_OPTIONS;
    options.preset = "tiny";
    options.settings = "ftl.kind = page\nftl.over_provisioning = 0.2\ninitial.fill = 0.9\n";
    EventQueue queue;
    Copier copier(queue, 500);
    DrivePort port(queue, copier, options, 16);
    copier.attach(port);
    while (queue.step()) {
    }
    copier.report();
}
