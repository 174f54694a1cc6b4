/** Large JSON bodies: they are read without their long strings, and forwarded as the client sent them. */
import { describe, expect, it, vi } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { callerOf, refusalOf } from "../../../test/harness/edge/pipeline/records.ts";
import { SECRET, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { usagePlan } from "../../../test/harness/edge/usage-plan.ts";
import { mainRows } from "../../../test/harness/main-rows.ts";
import { NO_EDITS, type ParsedCall, StageFailure } from "../call/known.ts";
import { parseCall } from "./parse-call.ts";

const KIB = 1024;

function callWith(body: string, world = new TestPipeline()): ReturnType<TestPipeline["call"]> {
  world.maxBodyBytes = 4096 * KIB;
  const headers = { authorization: `Bearer ${SECRET}`, "content-type": "application/json" };
  return world.call({ method: "POST", body, headers });
}

async function parsed(body: string): Promise<ParsedCall> {
  return (await parseCall(callWith(body), callerOf())).parsed;
}

const large = `"messages":[{"role":"user","content":"${"x".repeat(300 * KIB)}"}]`;

describe("the name of a field in a large body", () => {
  it.each(["max_tokens", "n", "Model"])("is %s also when it continues after a NUL, however long", async (field) => {
    for (const length of [1, 16_000, 65_500, 200_000]) {
      const body = `{"model":"tiny",${large},"${field}\\u0000${"z".repeat(length)}":1}`;
      const fault: unknown = await parsed(body).then(() => "none", refusalOf);
      expect({ length, fault }).toEqual({ length, fault: length > 16_000 ? "invalid_json" : "validation_failed" });
    }
  });

  it("may be any other name of 16 KB", async () => {
    expect((await parsed(`{"model":"tiny",${large},"models${"z".repeat(16_000)}":1}`)).modelName).toBe("tiny");
  });
});

describe("a name in an object of the body", () => {
  const long = "z".repeat(300 * KIB);
  it.each([
    ["n_predict", '"n_predict":9000,"n_predict":1'],
    ["prompt", '"prompt":["a","b"],"prompt":"a"'],
    ["best_of", '"best_of":8,"b\\u0065st_of":1'],
    ["sampling_params", '"sampling_params":{"max_new_tokens":9000},"sampling_params":{"max_new_tokens":1}'],
    ["sampling_params.*", '"sampling_params":{"max_new_tokens":9000,"max_new_tokens":1}'],
    ["extra_body.*", '"extra_body":{"options":{"num_predict":9000},"options":{}}'],
    ["input", '"input":"long","input":"x"'],
    ["tools", '"messages":[],"tools":[{"a":{"b":1}}],"tools":[]'],
    ["instructions", '"instructions":"long","other":{},"instructions":null'],
    ["documents", '"documents":["long"],"documents":["x"]'],
    ["messages.*", '"messages":[{"role":"user","content":"x"},{"role":"user","content":"long","content":"x"}]'],
    ["messages.*", '"messages":[{"role":"user","content":"long","cont\\u0065nt":"x"}]'],
    ["tools.*", '"tools":[{"function":{"description":"long","description":{"a":":"}}}]'],
    ["x.*", '"x":[[{"__proto__":1,"__proto__":2}]]'],
    ["model.*", '"model":{"a":1},"model":"tiny"'],
    ["messages.*", `"messages":[{"content":"${long}","content":"x"}]`],
    ["system", `"system":"${long}","system":"x","messages":[]`],
  ])("is there only once, because an upstream could read either: %s", async (param, members) => {
    const refused = parsed(`{"model":"tiny",${members}}`).catch((error: unknown) => {
      throw error instanceof StageFailure ? error.cause : error;
    });
    await expect(refused).rejects.toMatchObject({
      body: { error: { code: "validation_failed", param, message: `${param} must be given only once` } },
    });
  });

  it.each([
    ["the replaced model", '"model":"b"'],
    [
      "texts with colons, other spellings and names of every object",
      `"a":"x\\":{\\"a\\":1","A":{"a":{"a":[{"a":1},{"a":1}]}},"__proto__":{}`,
    ],
    ["a long body", `"__proto__":{"__proto__":1},"b":[{"a":"${long}"},{"a":"${long}:"}]`],
  ])("may be in others too: %s", async (_, members) => {
    expect((await parsed(`{"model":"tiny",${members}}`)).modelName).not.toBe("");
  });

  it("may have the same name in each element of a list", async () => {
    const body = '{"model":"tiny","sampling_params":[{"max_new_tokens":1},{"max_new_tokens":2}],"stop":["n","n"]}';
    expect((await parsed(body)).modelName).toBe("tiny");
  });
});

/** The part of the runtime that these tests use. */
interface Runtime {
  readonly process: {
    getBuiltinModule(name: "node:v8"): { setFlagsFromString(flags: string): void };
    getBuiltinModule(name: "node:vm"): { runInNewContext(code: string): () => void };
  };
}

function collectGarbage(): void {
  const { process } = globalThis as unknown as Runtime;
  process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc");
  process.getBuiltinModule("node:vm").runInNewContext("gc")();
}

/** Whether the upstream's body differs from `expected`, described by its length and the position of the first difference. */
async function differs({ outgoing }: ParsedCall, addUsage: boolean, expected: string): Promise<unknown> {
  const body = outgoing.open(
    "up",
    addUsage ? usagePlan((name) => outgoing.member && atOnce(outgoing.member(name))).edits : NO_EDITS,
    () => undefined,
  );
  const sent = await new Response(body as ReadableStream<Uint8Array>).text();
  if (sent === expected) return null;
  return [sent.length, expected.length, Array.from(sent).findIndex((letter, at) => letter !== expected[at])];
}

describe("a large body on its way", () => {
  const many = Array.from({ length: 40 }, () => `"${"y".repeat(10 * KIB)}"`).join(",");

  it.each([
    ["of one long text", (model: string) => `{"a":1,${large},"model":${model},"z":2}`],
    ["of many short ones", (model: string) => `{"model":${model},"input":[${many}] }`],
    [
      "with models all over",
      (model: string) => `{"model" : ${model},"a":[${many}],${large},"model":${model},"b":[${many}]}`,
    ],
  ])("%s is the client's except for its model", async (_, body) => {
    const call = await parsed(body('"tiny"'));
    for (let attempt = 0; attempt < 2; attempt += 1) expect(await differs(call, false, body('"up"'))).toBeNull();
    const usage = ',"stream_options":{"include_usage":true}}';
    expect(await differs(call, true, body('"up"').replace(/\}$/, usage))).toBeNull();
  });

  it("keeps the long texts of its stream options when the usage option is added to them", async () => {
    const body = (options: string): string => `{${large},"stream_options":${options},"model":"up"}`;
    const long = "o".repeat(70_000);
    const call = await parsed(body(`{"x":"${long}","include_usage":false}`));
    expect(await differs(call, true, body(`{"x":"${long}","include_usage":true}`))).toBeNull();
  });

  it.each([
    ["of one long text", `{"model":"tiny",${large}}`],
    ["of many short ones", `{"model":"tiny","input":[${many}]}`],
    ["of both", `{"model":"tiny","input":[${many}],${large}}`],
  ])("%s is in memory once", async (_, body) => {
    const read: WeakRef<ArrayBufferLike>[] = [];
    const decode = vi.spyOn(TextDecoder.prototype, "decode").mockImplementation((bytes) => {
      if (ArrayBuffer.isView(bytes)) read.push(new WeakRef(bytes.buffer));
      return Buffer.from(bytes as Uint8Array).toString();
    });
    const { outgoing } = await parsed(body);
    decode.mockRestore();
    // the target of a weak reference stays until the task that made the reference is over
    await new Promise((resolve) => void setImmediate(resolve));
    collectGarbage();
    const kept = new Set(outgoing.clientBytes?.map(({ buffer }) => buffer));
    const others = read.map((one) => one.deref()).filter((one) => one !== undefined && !kept.has(one));
    expect({
      hasRead: read.length > 0,
      largeCopies: others.filter((one) => (one?.byteLength ?? 0) > 100 * KIB),
    }).toEqual({ hasRead: true, largeCopies: [] });
    expect([...kept].reduce((sum, one) => sum + one.byteLength, 0)).toBe(body.length);
  });
});

describe("the memory of a large body", () => {
  const MIB = 1024 * KIB;
  const messages = (count: number): string =>
    `{"model":"tiny","messages":[${Array.from({ length: count }, () => '{"role":"user","content":"x"}').join(",")}]}`;

  it.each([
    ["one long text is its bytes", `{"model":"tiny",${large}}`, 0.2, 0.4],
    ["many short messages is that of their values", messages(80_000), 20, 30],
  ])("of %s", async (_, body, atLeast, atMost) => {
    const world = new TestPipeline();
    const call = callWith(body, world);
    await parseCall(call, callerOf());
    const usedMib = world.memory.bodyMemory.usedBytes / MIB;
    expect({ usedMib, isCounted: usedMib > atLeast && usedMib < atMost }).toEqual({ usedMib, isCounted: true });
    for (const release of call.cleanups) release();
    expect(world.memory.bodyMemory.usedBytes).toBe(0);
  });

  mainRows(0)([
    ["short messages", messages(80_000), 3],
    ["more values than the memory of all", `{"model":"tiny","x":[${"[],".repeat(800_000)}[]]}`, 9],
  ])(
    "of %s is taken before the body is parsed, so that those of one tenant follow one another",
    async (_, body, count) => {
      const world = new TestPipeline();
      const order: string[] = [];
      const parsings = new Map(
        Array.from({ length: count }, (__, nth) => {
          const call = callWith(body, world);
          const parsing = async () => {
            await parseCall(call, callerOf());
            order.push("parsed");
            return { nth, call };
          };
          return [nth, parsing()];
        }),
      );
      while (parsings.size > 0) {
        const { nth, call } = await Promise.race(parsings.values());
        parsings.delete(nth);
        // another one that need not wait would be parsed by then
        for (let at = 0; at < 10; at += 1) await new Promise((resolve) => void setImmediate(resolve));
        order.push("freed");
        for (const release of call.cleanups) release();
      }
      expect(order).toEqual(Array.from({ length: count }, () => ["parsed", "freed"]).flat());
    },
  );
});
