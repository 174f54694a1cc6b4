/**
 * A form on its way upstream: sent again while it is kept, released when it is not, and never taken for complete if it is not.
 */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { sourceOf } from "../../../test/harness/edge/pipeline/forms.ts";
import { FormScan } from "../../domain/request/form/form-scan.ts";
import { ClientGone } from "../call/client-gone.ts";
import { NO_EDITS } from "../call/known.ts";
import { FormOutgoing } from "./form-outgoing.ts";
import { FormReader } from "./form-reader.ts";

const MAX_BYTES = 4 * 1024 * 1024;

/** A request whose body comes in these chunks; an Error among them breaks it off. */
function requestOf(chunks: readonly (string | Uint8Array | Error)[], length?: number): Request {
  const left = [...chunks];
  const body = new ReadableStream({
    type: "bytes",
    pull: (controller) => {
      const chunk = left.shift();
      if (chunk === undefined) {
        controller.close();
        controller.byobRequest?.respond(0);
      } else if (chunk instanceof Error) controller.error(chunk);
      else controller.enqueue(typeof chunk === "string" ? new TextEncoder().encode(chunk) : Uint8Array.from(chunk));
    },
  });
  const headers: Record<string, string> = length === undefined ? {} : { "content-length": String(length) };
  return new Request("http://x", { method: "POST", body, headers, duplex: "half" } as RequestInit);
}

const part = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (size: number): string =>
  `--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${"x".repeat(size)}\r\n`;
const END = "--b--\r\n";

/** A form that has been read up to its model. */
async function outgoingOf(chunks: readonly (string | Error)[], onSent = (): void => undefined) {
  const reader = new FormReader(sourceOf(requestOf(chunks), MAX_BYTES), new FormScan("b"), ["model", "n"]);
  while (reader.modelBytes === null && (await reader.readMore()));
  return {
    intake: reader,
    outgoing: new FormOutgoing(reader, { reserveRead: async () => undefined, release: onSent }),
  };
}

const never = (): void => {
  throw new Error("there is no fault");
};

async function textOf(body: unknown): Promise<string> {
  return await new Response(body as ReadableStream<Uint8Array>).text();
}

describe("a form", () => {
  it("is the client's except for its model, again and again while it is small", async () => {
    const { outgoing, intake: reader } = await outgoingOf([part("model", "tiny"), part("n", "2"), file(100), END]);
    for (const model of ["a", "a longer name"]) {
      expect(await textOf(outgoing.open(model, NO_EDITS, never))).toBe(
        part("model", model) + part("n", "2") + file(100) + END,
      );
      expect(outgoing.resendable).toBe(true);
    }
    expect(reader.fields).toEqual({ model: "tiny", n: "2" });
  });

  it("can be sent again with every byte after an attempt that took little of it", async () => {
    const { outgoing } = await outgoingOf([part("model", "tiny"), file(100_000), file(100), END]);
    const first = outgoing.open("a", NO_EDITS, never) as ReadableStream<Uint8Array>;
    const reader = first.getReader();
    await reader.read();
    await reader.read();
    await reader.cancel();
    expect(outgoing.resendable).toBe(true);
    expect(await textOf(outgoing.open("b", NO_EDITS, never))).toBe(
      part("model", "b") + file(100_000) + file(100) + END,
    );
  });

  it.each([
    ["last", false],
    ["first", true],
  ])("in chunks of a byte, its model %s, is kept in few pieces and sent whole", async (_, first) => {
    const text = file(20_000);
    const [before, after] = first ? [part("model", "tiny"), text] : [text, part("model", "tiny")];
    const { outgoing, intake: reader } = await outgoingOf(Array.from(before + after + END));
    while (reader.source.readBytes < 19_000) await reader.readMore();
    expect(reader.segments.length).toBeLessThan(8);
    for (const model of ["a", "b"]) {
      const sent = first ? part("model", model) + text : text + part("model", model);
      expect((await textOf(outgoing.open(model, NO_EDITS, never))) === sent + END).toBe(true);
    }
    expect(reader.segments.length).toBeLessThan(8);
  });

  it("that is sent while it arrives is resent from its start, and dropped once it is too large", async () => {
    const chunks = [part("model", "tiny"), ...Array.from({ length: 400 }, () => "y".repeat(1000))];
    chunks[1] = file(0).slice(0, -2) + chunks[1];
    const { outgoing, intake: reader } = await outgoingOf([...chunks, `\r\n${END}`]);
    const first = (outgoing.open("a", NO_EDITS, never) as ReadableStream<Uint8Array>).getReader();
    for (let reads = 0; reads < 50; reads += 1) await first.read();
    await first.cancel();
    expect(outgoing.resendable).toBe(true);
    const whole = `${part("model", "b") + chunks.slice(1).join("")}\r\n${END}`;
    const second = (outgoing.open("b", NO_EDITS, never) as ReadableStream<Uint8Array>).getReader();
    let got = "";
    for (let next = await second.read(); !next.done; next = await second.read()) {
      got += new TextDecoder().decode(next.value);
      if (!outgoing.resendable) expect(reader.segments.length).toBeLessThan(3);
    }
    expect({ length: got.length, isWhole: got === whole, resendable: outgoing.resendable }).toEqual({
      length: whole.length,
      isWhole: true,
      resendable: false,
    });
  });

  it("is released as it leaves when it is large, and reports when it has left", async () => {
    let sent = 0;
    const chunks = [file(1_000_000), part("model", "tiny"), END];
    const { outgoing, intake: reader } = await outgoingOf(chunks, () => {
      sent += 1;
    });
    expect(await textOf(outgoing.open("a", NO_EDITS, never))).toBe(file(1_000_000) + part("model", "a") + END);
    expect({ resendable: outgoing.resendable, segmentCount: reader.segments.length, sent }).toEqual({
      resendable: false,
      segmentCount: 0,
      sent: 1,
    });
    expect(() => outgoing.open("a", NO_EDITS, never)).toThrow("has been sent");
  });

  it.each([
    ["a second model", [file(10), part("model", "other"), END], "invalid_multipart"],
    ["no end", [file(10)], "invalid_multipart"],
    ["a broken part", [file(10), "--b\r\nodd\r\n\r\n"], "invalid_multipart"],
    ["more than the cap", [file(5_000_000), END], "request_too_large"],
  ])("with %s ends the call that sends it", async (_, rest, code) => {
    const { outgoing } = await outgoingOf([part("model", "tiny"), ...rest]);
    let faults = 0;
    const body = outgoing.open("a", NO_EDITS, () => {
      faults += 1;
    });
    await expect(textOf(body)).rejects.toThrow();
    expect({ fault: outgoing.fault, faults }).toMatchObject({ fault: { code }, faults: 1 });
  });

  it("of a client that leaves does not count as malformed", async () => {
    const { outgoing } = await outgoingOf([part("model", "tiny"), file(10), new Error("reset")]);
    await expect(textOf(outgoing.open("a", NO_EDITS, () => undefined))).rejects.toThrow();
    expect(outgoing.fault).toBeInstanceOf(ClientGone);
  });

  it("that no upstream takes is read to its end", async () => {
    const { outgoing, intake: reader } = await outgoingOf([part("model", "tiny"), file(1000), END]);
    outgoing.release();
    await outgoing.discard();
    expect(reader.source.ended).toBe(true);
  });
});

describe("a body", () => {
  it("above the size limit is refused unread when its length is declared", () => {
    expect(() => sourceOf(requestOf([], 11), 10)).toThrow("request body too large");
    expect(sourceOf(requestOf([], 10), 10).declaredBytes).toBe(10);
  });
});

describe("the texts of a form that guardrails examine", () => {
  const typed = (headers: string, bytes: string): Uint8Array =>
    Buffer.from(`--b\r\nContent-Disposition: form-data; name="caption"\r\n${headers}\r\n${bytes}\r\n`, "latin1");
  const latin = "Content-Type: text/plain; charset=ISO-8859-1\r\n";
  const nbsp = "blue\u00a0falcon";
  const nbspInUtf8 = "blue\u00c2\u00a0falcon";

  /** The texts, or the field that is refused. */
  async function textsOf(bytes: Uint8Array, isLikeAscii = false): Promise<unknown> {
    const chunks = [part("model", "tiny"), bytes, END];
    const form = new FormReader(sourceOf(requestOf(chunks), MAX_BYTES), new FormScan("b"), ["model", "n"]);
    const memory = { reserveRead: async () => undefined, release: () => undefined };
    try {
      return await new FormOutgoing(form, memory, isLikeAscii).readTexts();
    } catch (error) {
      return error instanceof GatewayError ? error.body.error.param : error;
    }
  }

  it.each<[string, Uint8Array]>([
    ["Latin-1 without a charset", typed("", nbsp)],
    ["Latin-1 by its charset", typed(latin, nbsp)],
    ["UTF-8 by another charset", typed(latin, nbspInUtf8)],
    ["UTF-16 by its charset", typed("Content-Type: text/plain; charset=utf-16\r\n", "b\0l\0")],
    ["base64", typed("Content-Transfer-Encoding: base64\r\n", "Ymx1ZQ==")],
  ])("must not be written in %s", async (_, bytes) => {
    expect(await textsOf(bytes)).toBe("caption");
  });

  it("must be ASCII where the form says that it is Latin-1", async () => {
    expect(await textsOf(typed("", nbspInUtf8), true)).toBe("caption");
    expect(await textsOf(typed("", "blue"), true)).toEqual(["blue"]);
  });

  it.each<[string, Uint8Array, string]>([
    ["UTF-8", typed("", nbspInUtf8), nbsp],
    ["UTF-8 by its charset", typed("Content-Type: text/plain; charset=UTF-8\r\n", nbspInUtf8), nbsp],
    ["ASCII as Java writes it", typed(`${latin}Content-Transfer-Encoding: 8bit\r\n`, "blue"), "blue"],
  ])("may be written in %s", async (_, bytes, text) => {
    expect(await textsOf(bytes)).toEqual([text]);
  });
});
