/**
 * The runtime's IdentityTransformStream for tests under Node: a write is done once a read has taken it, and both ends carry
 * bytes.
 */
export class IdentityTransform {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;

  constructor() {
    let wanted = Promise.withResolvers<void>();
    let outlet: ReadableByteStreamController | null = null;
    this.readable = new ReadableStream(
      {
        type: "bytes",
        start: (controller) => {
          outlet = controller;
        },
        pull: () => wanted.resolve(),
        cancel: (reason) => {
          wanted.promise.catch(() => undefined);
          wanted.reject(reason);
        },
      },
      { highWaterMark: 0 },
    );
    this.writable = new WritableStream<Uint8Array>({
      write: async (chunk, controller) => {
        // an abort does not wait for a reader
        controller.signal.addEventListener("abort", () => wanted.reject(controller.signal.reason));
        await wanted.promise;
        wanted = Promise.withResolvers();
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
