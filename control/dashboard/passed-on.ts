/** Bodies of answers that pass through the console's server (docs/rules/console.md#relay). */

/** Nobody reads this status: the caller has left. */
export const CLIENT_GONE = 499;

interface Passing {
  /** Before each piece is made, to what is called when it is there. */
  readonly begin?: () => Promise<() => void>;
  /** All of the body has come. */
  readonly onEnd?: () => void;
  /** Nothing more comes, for whatever reason. */
  readonly onOver: () => void;
}

/**
 * The body of an answer as it comes. One that breaks off ends the browser's connection, so that it is not taken for whole.
 */
export function passedOn(
  body: ReadableStream<Uint8Array>,
  { begin, onEnd, onOver }: Passing,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let reading: Promise<unknown> = Promise.resolve();
  const next = async (): ReturnType<typeof reader.read> => {
    const end = await begin?.();
    const piece = reader.read();
    reading = piece;
    return await piece.finally(end);
  };
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await next();
          if (!done) return controller.enqueue(value);
          onOver();
          onEnd?.();
          controller.close();
        } catch (error) {
          onOver();
          // With another code the server would write the error's text to the browser and to the console.
          const cut = { code: "ERR_STREAM_PREMATURE_CLOSE", cause: error };
          controller.error(Object.assign(new Error("the answer broke off"), cut));
        }
      },
      cancel: async (reason) => {
        onOver();
        // A cancelled read is over at once, but what makes the piece may continue.
        if (begin !== undefined) await reading.catch(() => undefined);
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
