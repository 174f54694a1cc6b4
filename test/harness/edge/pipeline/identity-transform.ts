/**
 * The runtime's IdentityTransformStream for tests under Node: a write is done once a read has taken it, and both ends carry
 * bytes.
 */
export class IdentityTransform {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;

  constructor() {
    let wanted = aRead();
    let outlet: ReadableByteStreamController | null = null;
    this.readable = new ReadableStream(
      {
        type: "bytes",
        start: (controller) => {
          outlet = controller;
        },
        pull: () => wanted.resolve(),
        cancel: (reason) => wanted.reject(reason),
      },
      { highWaterMark: 0 },
    );
    this.writable = new WritableStream<Uint8Array>({
      write: async (chunk, controller) => {
        // an abort does not wait for a reader
        controller.signal.addEventListener("abort", () => wanted.reject(controller.signal.reason));
        await wanted.promise;
        wanted = aRead();
        outlet?.enqueue(new Uint8Array(chunk));
      },
      close: () => {
        outlet?.close();
        outlet?.byobRequest?.respond(0);
      },
      abort: (reason) => outlet?.error(reason),
    });
  }
}

/** A read that is waited for by a write, or by none: then its failure concerns nobody. */
function aRead() {
  const read = Promise.withResolvers<void>();
  read.promise.catch(() => undefined);
  return read;
}
