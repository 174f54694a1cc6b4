/** A chat whose model has boons, for tests of them: what the client gets, what each upstream was sent, and the rows. */

import { run } from "../../../../edge/pipeline/run.ts";
import type { ModelRecord } from "../../../../shared/records.ts";
import { type BoonsValue, boonsValueSchema } from "../../../../shared/schema/settings/boons.ts";
import type { UsageRow } from "../../../../shared/usage/usage-row.ts";
import { keyOf, modelOf, settingsOf, tenantOf } from "./records.ts";
import { type Answer, endpoint, hostOf, nthAnswer } from "./upstreams.ts";
import { TestPermit, TestPipeline } from "./world.ts";

/** A chat completion that says this, as an upstream answers it. */
export const says =
  (...contents: readonly (string | null)[]): Answer =>
  async () =>
    Response.json(chatCompletionOf(...contents));

export const COMPLETION_USAGE = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };

export function chatCompletionOf(...contents: readonly (string | null)[]): object {
  const choices = contents.map((content, index) => ({
    index,
    message: { role: "assistant", content },
    finish_reason: "stop",
  }));
  return { id: "c", object: "chat.completion", created: 7, model: "m", choices, usage: COMPLETION_USAGE };
}

export class BoonWorld extends TestPipeline {
  readonly client = new AbortController();
  /** What each model's upstream answers: to its first call, its second, and so on; the last answer stays. */
  readonly #answers = new Map<string, Answer[]>();
  readonly #sent = new Map<string, Record<string, unknown>[]>();
  readonly permits: TestPermit[] = [];

  /** `answers`: of the request's own model. */
  constructor(settings: Partial<BoonsValue>, model: Partial<ModelRecord>, ...answers: Answer[]) {
    super();
    this.maxBodyBytes = 1_000_000;
    this.key = keyOf({ tracing_enabled: true, tenant: tenantOf() });
    this.settings.set("boons", settingsOf({ ...boonsValueSchema.parse({}), ...settings }));
    this.model = modelOf({ endpoints: [endpoint("own")], ...model });
    this.#answers.set("own", answers);
    this.upstream = async (call) => {
      const name = hostOf(call);
      const sent = this.#sent.get(name) ?? [];
      this.#sent.set(name, sent);
      sent.push((await new Response(call.body as Uint8Array<ArrayBuffer>).json()) as Record<string, unknown>);
      return await nthAnswer(name, this.#answers.get(name), sent.length - 1)(call);
    };
    this.subCallPermit = async () => {
      const permit = new TestPermit();
      this.permits.push(permit);
      return permit;
    };
  }

  /** Another registered model, and what its upstream answers. */
  with(name: string, model: Partial<ModelRecord>, ...answers: Answer[]): this {
    this.otherModels.set(name, modelOf({ model_name: name, endpoints: [endpoint(name)], ...model }));
    this.#answers.set(name, answers);
    return this;
  }

  /** The bodies that a model's upstream has got; `own`: the request's model. */
  sentTo(name: string): readonly Record<string, unknown>[] {
    return this.#sent.get(name) ?? [];
  }

  get subRows(): readonly UsageRow[] {
    return this.permits.flatMap(({ settlement }) => (settlement === null ? [] : [settlement.row]));
  }

  /** The client's answer to a chat, when everything about it has ended. */
  async chat(body: object, headers: Readonly<Record<string, string>> = {}) {
    const text = JSON.stringify({ model: "tiny", messages: [{ role: "user", content: "q" }], ...body });
    const given = this.received({ body: text, signal: this.client.signal });
    for (const [name, value] of Object.entries(headers)) given.request.headers.set(name, value);
    const response = await run(given);
    const answered = await response.text().catch((error: unknown) => String(error));
    await this.settled();
    const header = (name: string) => response.headers.get(name);
    return {
      status: response.status,
      text: answered,
      type: header("content-type"),
      boons: header("x-gateway-boons"),
      warnings: header("x-gateway-boons-warning"),
    };
  }
}
