// The engine in WebAssembly: requests in, result documents out, as JSON in one text that both sides share.
async function openEngine(wasm) {
  const { exports } = (await WebAssembly.instantiate(wasm, {})).instance;
  function text(bytes) {
    const place = exports.pumice_playground_text(bytes); // First: the memory may grow by it, and is then another buffer.
    return new Uint8Array(exports.memory.buffer, place, bytes);
  }
  const answered = bytes => JSON.parse(new TextDecoder().decode(text(bytes)));
  return {
    drives: () => answered(exports.pumice_playground_drives()),
    run(request) {
      const asked = new TextEncoder().encode(JSON.stringify(request));
      text(asked.length).set(asked);
      return answered(exports.pumice_playground_run());
    },
  };
}
