/**
 * The assistant as the console's server runs it (docs/rules/assistant.md): it reads as the person who asks, through the same
 * closed list as the person's browser, and writes only what the person has clicked.
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import { type AssistantValue, assistantValueSchema } from "../../shared/schema/settings/assistant.ts";
import { visibleJson } from "../../shared/text/printable.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import type {
  AssistantEvent,
  AssistantOutcome,
  AssistantOutdated,
  AssistantProposal,
  AssistantRun,
  AssistantState,
} from "../../shared/wire/assistant.ts";
import { dataEvent } from "../../shared/wire/event-reader.ts";
import type { Database } from "../db/connect.ts";
import type { UserRow } from "../db/schema/users.ts";
import type { Logger } from "../kernel/log.ts";
import { parse } from "../kernel/parse.ts";
import type { HeldKey } from "../kernel/renewed-key.ts";
import { Brain, BrainError } from "./brain.ts";
import { basisOf, effectOf, type Records } from "./effect.ts";
import { questionSchema } from "./history.ts";
import type { ApiCall } from "./model-tools.ts";
import { type AssistantOperation, operationsOf, type ReachableRoute } from "./operations.ts";
import { jsonOf, ORIGIN, type Person, PersonReads, pathOnly, READ_MAX_BYTES, textOf } from "./person-reads.ts";
import { Proposals, type SealedProposal } from "./proposals.ts";
import { linkedReads, type RecordRead, recordReads, type StoredRecord } from "./record-reads.ts";
import { ANSWER_MAX_MS, runTurns } from "./run-turns.ts";
import { systemPrompt } from "./system-prompt.ts";

/** Who asks. */
export interface Asker extends Person {
  /** Names the session, without letting anybody in. */
  readonly session: string;
  /** The person as they are now. Throws when they may not ask any more. */
  readonly current: () => Promise<UserRow>;
}

interface AssistantOptions {
  readonly db: Database;
  readonly sessionSecret: string;
  readonly proxyBaseUrl: string;
  readonly adminToken: string;
  readonly now: () => Date;
  readonly log: Logger;
  /** The Management API itself. */
  readonly management: (request: Request) => Promise<Response>;
  /** The Management API as a person reaches it; `path` is that below /api/v1, without its query. */
  readonly asPerson: (request: Request, path: string, person: Person) => Promise<Response>;
  readonly routes: readonly ReachableRoute[];
  /** Counts an answer of a person until the returned function is called. Throws when there are too many. */
  readonly beginCall: (userId: string) => () => void;
  /** The path of the route that a request of a person leads to, with `{name}` for parameters; null: to none. */
  readonly routeOf: (method: string, path: string) => string | null;
}

/** Thrown when there is no assistant to ask. */
export class AssistantOff extends Error {
  override readonly name = "AssistantOff";
}

/** Thrown when a proposal cannot be run by the one who tries. */
export class ProposalUnusable extends Error {
  override readonly name = "ProposalUnusable";
}

const UNFINISHED: AssistantEvent = {
  kind: "failed",
  code: "internal_error",
  message: "the answer could not be finished; ask again",
};
/** How long the document of a Management API in another process is taken for the current one. */
const DOCUMENT_FOR_MS = 60_000;
const SHOWN_MAX_CHARACTERS = 64 * 1024;

const tokenSchema = z.object({ token: z.string({ error: "must be a string" }).max(512 * 1024, "is too long") });
const createdKeySchema = z.object({ secret: z.string(), key: z.object({ expires_at: z.string() }) });

export class Assistant {
  readonly #options: AssistantOptions;
  readonly #brain: Brain;
  readonly #reads: PersonReads;
  readonly #proposals: Proposals;
  /** Proposals that this process runs now. */
  readonly #running = new Set<string>();
  #operations: { readonly atMs: number; readonly all: Promise<readonly AssistantOperation[]> } | null = null;

  constructor(options: AssistantOptions) {
    this.#options = options;
    const nowMs = (): number => options.now().getTime();
    this.#brain = new Brain({ baseUrl: options.proxyBaseUrl, makeKey: async () => await this.#makeKey(), nowMs });
    this.#reads = new PersonReads(options.asPerson);
    this.#proposals = new Proposals(options);
  }

  /** Whether it can be asked, and its tools. */
  async state(user: UserRow): Promise<AssistantState> {
    const [settings, operations] = await Promise.all([this.#settings(user), this.#allOperations()]);
    const { enabled, brain_model, tools_enabled } = settings;
    const reason = await this.#whyNot(settings, user);
    return {
      enabled,
      brain_model,
      ready: reason === null,
      reason,
      tools: operations.map(({ name, summary, method, path, writes }) => ({
        name,
        title: summary,
        method,
        path: `/api/v1${path}`,
        writes,
        enabled: isOn(tools_enabled, name),
      })),
    };
  }

  /** The answer to a question, as events. Throws 400, AssistantOff. It ends when `signal` does. */
  async answer(input: unknown, asker: Asker, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const { text, history } = parse(questionSchema, input);
    const settings = await this.#settings(asker.user);
    const { brain_model: model } = settings;
    if (model === null || (await this.#whyNot(settings, asker.user)) !== null) throw new AssistantOff();
    const all = await this.#allOperations();
    const operations = all.filter(({ name }) => isOn(settings.tools_enabled, name));
    const onOver = this.#options.beginCall(asker.user.id);
    const left = new AbortController();
    const ended = AbortSignal.any([signal, left.signal, AbortSignal.timeout(ANSWER_MAX_MS)]);
    return eventStream(
      async (emit) => {
        const ports = {
          ask: async (...[messages, tools, onText]: Parameters<Parameters<typeof runTurns>[0]["ask"]>) =>
            await this.#brain.ask({ model, messages, tools }, onText, ended),
          leadsTo: (call: ApiCall) => this.#options.routeOf(call.method, pathOnly(call.path)),
          read: async (call: ApiCall) => await this.#reads.read(call.path, await asker.current(), ended),
          propose: async (operation: AssistantOperation, call: ApiCall) => {
            const user = await asker.current();
            const { session } = asker;
            return await this.#propose(operation, call, { user, session }, await this.#records(operation, call, user));
          },
          emit,
          nowMs: () => performance.now(),
        };
        const conversation = [...history, { role: "user" as const, content: text }];
        const system = systemPrompt(this.#options.now());
        await runTurns(ports, { system, history: conversation }, operations).catch((error: unknown) => {
          if (ended.aborted && !signal.aborted && !left.signal.aborted)
            emit({ kind: "failed", code: "assistant_timeout", message: "the answer took too long; ask for less" });
          else emit(this.#failure(error));
        });
      },
      { onCancel: () => left.abort(), onOver },
    );
  }

  /**
   * Runs a proposal, once; when what it would change is not what the person was shown any more, nothing happens, and it is
   * proposed again. Throws 400, AssistantOff, ProposalUnusable, and what the person's own request would throw.
   */
  async run(input: unknown, { user, address, session }: Asker): Promise<AssistantRun | AssistantOutdated> {
    const { token } = parse(tokenSchema, input);
    const proposal = await this.#proposals.open(token, { user: user.id, session });
    // A second click is told that the first one is under way, however long its records are read.
    const isFirst = proposal !== null && !this.#running.has(proposal.id);
    if (isFirst) this.#running.add(proposal.id);
    try {
      const { enabled, tools_enabled } = await this.#settings(user);
      if (!enabled) throw new AssistantOff();
      if (!isFirst) throw new ProposalUnusable();
      return await this.#runOpened(proposal, tools_enabled, { user, address, session });
    } finally {
      if (isFirst) this.#running.delete(proposal.id);
    }
  }

  async #runOpened(
    { id, method, path, body, basis }: SealedProposal,
    toolsEnabled: AssistantValue["tools_enabled"],
    { user, address, session }: Omit<Asker, "current">,
  ): Promise<AssistantRun | AssistantOutdated> {
    const route = this.#options.routeOf(method, pathOnly(path));
    const operation = (await this.#allOperations()).find((one) => one.method === method && one.path === route);
    // Before it is taken: it can still be run when its tool is on again.
    if (operation === undefined || !isOn(toolsEnabled, operation.name)) throw new ProposalUnusable();
    if ((await this.#proposals.statusOf(id)) !== undefined) throw new ProposalUnusable();
    const call = { method, path, body };
    const records = await this.#records(operation, call, user);
    if (basisOf(operation, call, records) !== basis)
      return { outdated: await this.#propose(operation, call, { user, session }, records) };
    if (!(await this.#proposals.take(id))) throw new ProposalUnusable();
    const headers = { accept: "application/json", "content-type": "application/json", "idempotency-key": id };
    const request = new Request(`${ORIGIN}${path}`, { method, headers, body });
    const response = await this.#options.asPerson(request, pathOnly(path), { user, address });
    const { text: answer } = await textOf(response, READ_MAX_BYTES);
    const { status } = response;
    this.#options.log.info({ event: "assistant_ran", proposal: id, status });
    // The person is told now, whether or not it can be told later as well.
    await this.#proposals.keepStatus(id, status).catch(() => undefined);
    return {
      status,
      answer: shownAnswer(answer).slice(0, SHOWN_MAX_CHARACTERS),
      pending: response.headers.get("x-gateway-sync") === "pending",
    };
  }

  /** What came of a proposal, for who has lost the answer to its run. Throws 400, ProposalUnusable. */
  async outcome(input: unknown, { user, session }: Asker): Promise<AssistantOutcome> {
    const { token } = parse(tokenSchema, input);
    const proposal = await this.#proposals.openAfterwards(token, { user: user.id, session });
    if (proposal === null) throw new ProposalUnusable();
    const isRunning = this.#running.has(proposal.id);
    const status = await this.#proposals.statusOf(proposal.id);
    if (status === undefined) return { state: isRunning ? "running" : "not_run" };
    if (status !== null) return { state: "answered", status };
    return { state: isRunning ? "running" : "unknown" };
  }

  async #propose(
    operation: AssistantOperation,
    call: ApiCall,
    { user, session }: Pick<Asker, "user" | "session">,
    records: Records,
  ): Promise<AssistantProposal> {
    const id = randomUUID();
    const basis = basisOf(operation, call, records);
    const { token, expiresAt } = await this.#proposals.seal({ id, user: user.id, session, basis, ...call });
    const { method, path, body } = call;
    const effect = effectOf(operation, call, records);
    return { id, token, method, path: `/api/v1${path}`, body, ...effect, expires_at: expiresAt.toISOString() };
  }

  /** What a call is about, as it is now. */
  async #records(operation: AssistantOperation, call: ApiCall, user: UserRow): Promise<Records> {
    const reads = recordReads(operation, call, await this.#allOperations());
    const record = async (read: RecordRead | null) => await this.#reads.record(read, user, ANSWER_MAX_MS);
    const [own, parent] = await Promise.all([record(reads.own), record(reads.parent)]);
    const body = call.body === null ? null : (JSON.parse(call.body) as StoredRecord);
    const linked = [...linkedReads(own, body)].map(async ([id, read]) => [id, await record(read)] as const);
    return { own, parent, linked: new Map(await Promise.all(linked)) };
  }

  async #whyNot({ enabled, brain_model }: AssistantValue, user: UserRow): Promise<AssistantState["reason"]> {
    if (!enabled) return "disabled";
    if (brain_model === null) return "no_model";
    const { status, text } = await this.#reads.read(
      `/models?q=${encodeURIComponent(brain_model)}&limit=1000`,
      user,
      null,
    );
    const models = status === 200 ? jsonOf(text) : null;
    if (!Array.isArray(models)) return null; // the data plane tells the caller
    const isThere = models.some((one: { model_name?: unknown; enabled?: unknown }) => {
      return one.model_name === brain_model && one.enabled !== false;
    });
    return isThere ? null : "model_missing";
  }

  async #settings(user: UserRow): Promise<AssistantValue> {
    const { status, text } = await this.#reads.read("/settings/assistant", user, null);
    if (status !== 200) throw new GatewayError("database_unavailable");
    return assistantValueSchema.parse(JSON.parse(text));
  }

  async #allOperations(): Promise<readonly AssistantOperation[]> {
    const nowMs = this.#options.now().getTime();
    const held = this.#operations;
    if (held !== null && nowMs >= held.atMs && nowMs < held.atMs + DOCUMENT_FOR_MS) return await held.all;
    const all = this.#readOperations();
    const reading = { atMs: nowMs, all };
    this.#operations = reading;
    all.catch(() => {
      if (this.#operations === reading) this.#operations = null;
    });
    return await all;
  }

  async #readOperations(): Promise<readonly AssistantOperation[]> {
    const response = await this.#options.management(new Request(`${ORIGIN}/api/v1/openapi.json`));
    return operationsOf(await response.json(), this.#options.routes);
  }

  /** A key of the assistant's tenant, for this process. */
  async #makeKey(): Promise<HeldKey> {
    const { management, adminToken } = this.#options;
    const headers = { authorization: `Bearer ${adminToken}`, "x-gateway-audit-actor": "assistant" };
    const response = await management(new Request(`${ORIGIN}/api/v1/assistant/key`, { method: "POST", headers }));
    const made = createdKeySchema.safeParse(await response.json().catch(() => null));
    if (!made.success) throw new BrainError("assistant_key", "no key could be created for the assistant; ask again");
    return { secret: made.data.secret, expiresAtMs: Date.parse(made.data.key.expires_at) };
  }

  #failure(error: unknown): AssistantEvent {
    if (error instanceof BrainError) return { kind: "failed", code: error.code, message: error.message };
    const { code, status, message } = error as { code?: unknown; status?: unknown; message?: unknown };
    if (typeof code === "string" && typeof status === "number" && status < 500)
      return { kind: "failed", code, message: String(message) };
    this.#options.log.error({ event: "assistant_failed", reason: rootCause(error) });
    return UNFINISHED;
  }
}

function isOn(tools: AssistantValue["tools_enabled"], name: string): boolean {
  return !Object.hasOwn(tools, name) || tools[name] !== false;
}

/** What `work` emits, as server-sent events; `onCancel`: the reader has left, `onOver`: `work` has ended. */
function eventStream(
  work: (emit: (event: AssistantEvent) => void) => Promise<void>,
  { onCancel, onOver }: { readonly onCancel: () => void; readonly onOver: () => void },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isLeft = false;
  return new ReadableStream({
    start: (controller) => {
      const emit = (event: AssistantEvent): void => {
        if (!isLeft) controller.enqueue(encoder.encode(dataEvent(JSON.stringify(event))));
      };
      void work(emit)
        .catch(() => emit(UNFINISHED))
        .finally(() => {
          onOver();
          if (!isLeft) controller.close();
        });
    },
    cancel: () => {
      isLeft = true;
      onCancel();
    },
  });
}

/** An answer as the page shows it: no name in it changes how the rest looks. */
function shownAnswer(text: string): string {
  return indented(text).split("\n").map(visibleJson).join("\n");
}

function indented(text: string): string {
  try {
    return text === "" ? "" : JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
