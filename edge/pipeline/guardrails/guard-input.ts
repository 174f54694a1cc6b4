/**
 * Step 4, second half: the input guardrails of the tenant (docs/rules/guardrails.md#where-it-looks,
 * docs/rules/guardrails.md#actions). A policy is read at its use: a request whose records are read again is examined
 * again when its policy is another one by then, in the words of its client.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { ScanMatch, ScannedText, ScanRoom } from "../../../shared/guardrails/text-scan.ts";
import type { Steps } from "../../../shared/steps.ts";
import { redactText } from "../../domain/message-texts/redacted-texts.ts";
import { type GuardedTexts, guardedTexts, type RequestText } from "../../domain/message-texts/request-texts.ts";
import { RedactionTally, unescaped } from "../../domain/message-texts/text-redaction.ts";
import { textScopeOf } from "../../domain/message-texts/text-scopes.ts";
import type { OpenSpan } from "../../domain/trace/trace.ts";
import type { Edit, Span } from "../../domain/wire/bytes/byte-pieces.ts";
import { writtenInSteps } from "../../domain/wire/json/write-in-steps.ts";
import { authenticateNow } from "../authenticate/authenticate-now.ts";
import type { OutgoingBody } from "../call/client-body.ts";
import { type Call, OnceLatch } from "../call/context.ts";
import { type Guards, guardsOf, isBlocking } from "../call/guards.ts";
import { inTurns } from "../call/in-turns.ts";
import { type Prepared, StageFailure } from "../call/known.ts";
import { withSpan } from "../call/report/spans.ts";
import { FormOutgoing } from "../resolve-model/form-outgoing.ts";
import { JsonOutgoing } from "../resolve-model/json-outgoing.ts";
import { lookBeside } from "./look-beside.ts";
import { runScan, scanRoom } from "./run-scan.ts";

/** Replaces a tool's result that is blocked. */
export const BLOCKED_RESULT = "error: blocked by content policy";

/** How often a request that would be refused is examined by a newer policy. */
const POLICIES_MAX = 3;

/**
 * The request as the policy lets it pass. `isEarly`: it has no slot yet; if it is too much work, it is given back unexamined,
 * and says so (docs/rules/guardrails.md#when). Throws the failure of 400 `request_blocked` or 503 `content_policy_unavailable`, any
 * refusal by the caller's current records, and errors of reading a form to its end.
 */
export async function guardInput(call: Call, request: Prepared, isEarly = false): Promise<Prepared> {
  // a guard model gets no text by a policy, or of a caller, that is known to be old
  let current = asksGuardModel(request) ? await withCallerNow(call, request) : request;
  for (let look = 1; ; look += 1) {
    const passed = await guarded(call, current, isEarly).catch((error: unknown) => {
      throw StageFailure.of(error, current);
    });
    if (typeof passed !== "string") return passed;
    const newer = await underNewerPolicy(call, current);
    if (newer === null || look === POLICIES_MAX) throw new StageFailure(new GatewayError(passed), current);
    current = newer;
  }
}

/** Whether a model will judge the request before it is sent (docs/rules/freshness.md#every-use-compares). */
function asksGuardModel({ principal: { tenant }, guarded: before }: Prepared): boolean {
  const guards = guardsOf(tenant, "input");
  return (
    guards !== null && guards.guardModel !== null && guards.action !== "log_only" && before?.tenantRev !== tenant.rev
  );
}

/** The request with the caller's records as the Cell knows them. Throws the failure of a refusal by them. */
async function withCallerNow(call: Call, request: Prepared): Promise<Prepared> {
  const { principal, identity } = await authenticateNow(call, request);
  return { ...request, principal, identity };
}

/** The request, if its policy lets it pass; else its refusal. */
async function guarded(
  call: Call,
  request: Prepared,
  isEarly: boolean,
): Promise<Prepared | "request_blocked" | "content_policy_unavailable"> {
  const { tenant } = request.principal;
  const guards = guardsOf(tenant, "input");
  if (request.guarded === null ? guards === null : request.guarded.tenantRev === tenant.rev) return request;
  const given = request.guarded?.given ?? request.parsed.outgoing;
  if (given instanceof FormOutgoing) given.replaceTexts([]);
  const unchanged = { ...request, parsed: { ...request.parsed, outgoing: given } };
  const noted = { tenantRev: tenant.rev, given, beside: null };
  if (guards === null) return { ...unchanged, guarded: noted };
  if (guards.action === "log_only") {
    const beside = besideOf(call, unchanged, guards, given);
    return { ...unchanged, guarded: { ...noted, beside } };
  }
  return await withSpan(call, "boon:guardrails_input", async (span) => {
    const texts = await textsOf(call, given, guards);
    if (texts.hasTokenIds) return "request_blocked";
    const found = await examine(call, unchanged, guards, texts, span, isEarly ? LIMITS.examinedUnits : undefined);
    if (found.isLong) return { ...request, isLongWork: true };
    if (found.blocked) return "request_blocked";
    if (found.unjudged) return "content_policy_unavailable";
    const outgoing = await redacted(call, guards, given, texts, found);
    return { ...unchanged, parsed: { ...request.parsed, outgoing }, guarded: noted };
  });
}

/**
 * The request with the caller's current records, if their policy differs from the one that it was examined by; null: they have
 * the same. Throws the failure of the caller's current refusal.
 */
async function underNewerPolicy(call: Call, request: Prepared): Promise<Prepared | null> {
  try {
    const newer = await withCallerNow(call, request);
    return newer.principal.tenant.rev === request.principal.tenant.rev ? null : newer;
  } catch (error) {
    const failure = StageFailure.of(error, request);
    // the refusal stands if the caller's access cannot be checked
    if (failure.cause instanceof GatewayError && failure.cause.status < 500) throw failure;
    return null;
  }
}

/** Examines the request once, when nothing waits for it any more. */
function besideOf(
  call: Call,
  request: Prepared,
  guards: Guards,
  given: OutgoingBody,
): NonNullable<Prepared["guarded"]>["beside"] {
  const latch = new OnceLatch();
  const bytes = given.clientBytes;
  return (of) => {
    const applied = of === "admitted" ? guards : { ...guards, guardModel: null };
    const look = async (span: OpenSpan, beside: Call): Promise<void> => {
      const texts =
        given instanceof FormOutgoing ? formTexts(given.textsSoFar()) : await jsonTexts(beside, bytes ?? [], applied);
      await examine(beside, request, applied, texts, span);
    };
    if (latch.take()) void lookBeside(call, request, "boon:guardrails_input", look);
  };
}

/** Separates unconnected texts while they are scanned, as a model's own separators do when it reads definitions. */
const QUOTE = { text: '"', user: false };
/** Work for a text, in units. */
const TEXT_UNITS = 4;

interface Examined {
  readonly blocked: boolean;
  readonly unjudged: boolean;
  readonly isLong: boolean;
  /** Something was found, in the prompts or in a tool's result. */
  readonly matched: boolean;
  /** The matches in each tool's result. */
  readonly inResults: readonly (readonly ScanMatch[])[];
}

/**
 * Runs the scanners, and reports their findings. A tool's result is blocked alone. Harm is judged on the text that the model
 * will read: the guard model must not see redacted text. Throws ClientGone.
 */
async function examine(
  call: Call,
  request: Prepared,
  guards: Guards,
  { prompts, otherReadings, others, toolResults, isWhole }: GuardedTexts,
  span: OpenSpan,
  maxUnits = Number.POSITIVE_INFINITY,
): Promise<Examined> {
  const { scan } = guards;
  const inResults: (readonly ScanMatch[])[] = [];
  const find = function* (room: ScanRoom): ReturnType<Parameters<typeof runScan>[2]["find"]> {
    for (const texts of toolResults) inResults.push(yield* scan.scanning(texts, room));
    const inPrompts: ScanMatch[] = [];
    for (const reading of [prompts, ...otherReadings])
      for (const match of yield* scan.scanning(reading, room)) inPrompts.push(match);
    const inOthers = yield* scan.scanning(yield* quoted(others), room);
    const inArguments = yield* scan.scanning(yield* quoted(yield* unescapedOf([...prompts, ...others])), room);
    if (!isWhole) room.units = -1;
    return { matches: [...inPrompts, ...inOthers, ...inArguments], apart: inResults.flat() };
  };
  const harmText = function* (): Steps<string> {
    return [
      ...(yield* redactedOthers(guards, others)),
      ...(yield* redactedPrompts(guards, prompts, otherReadings)),
    ].join("\n");
  };
  const verdict = await runScan(call, request, { side: "input", guards, span, find, harmText, maxUnits });
  return { ...verdict, inResults };
}

/** Separate texts, so no match starts in one and ends in the next. */
function* quoted(others: readonly ScannedText[]): Steps<readonly ScannedText[]> {
  const texts: ScannedText[] = [];
  for (const text of others) {
    yield TEXT_UNITS;
    texts.push(text, QUOTE);
  }
  return texts;
}

/** Arguments of a call as their tool reads them, if they are written in another way. */
function* unescapedOf(texts: readonly RequestText[]): Steps<readonly ScannedText[]> {
  const found: ScannedText[] = [];
  for (const { text, user, json = false } of texts) {
    yield TEXT_UNITS;
    if (json && text.includes("\\")) found.push({ text: yield* unescaped(text), user });
  }
  return found;
}

/** The texts as the policy lets them pass. */
function* redactedTexts(
  { action, scan }: Guards,
  texts: readonly (ScannedText & Pick<RequestText, "json">)[],
): Steps<readonly string[]> {
  if (action !== "redact") return texts.map(({ text }) => text);
  const redacted: string[] = [];
  for (const [at, other] of (yield* scan.redacting(texts, scanRoom())).texts.entries()) {
    yield TEXT_UNITS;
    const { text = "", json = false } = texts[at] ?? {};
    // Arguments stay JSON, because an upstream parses them.
    const tally = new RedactionTally();
    const mayDiffer = json && (other !== text || text.includes("\\"));
    const decoded = mayDiffer ? yield* redactText(scan, tally, { text, json }, scanRoom()) : other;
    redacted.push(other !== text || tally.pii + tally.ban_keywords > 0 ? decoded : text);
  }
  return redacted;
}

/** The same of the prompts, in whichever order a model reads them. */
function* redactedPrompts(
  guards: Guards,
  prompts: readonly RequestText[],
  otherReadings: GuardedTexts["otherReadings"],
): Steps<readonly string[]> {
  const redacted = yield* redactedTexts(guards, prompts);
  if (otherReadings.length === 0) return redacted;
  const texts = new Map<RequestText, string>();
  for (const [at, prompt] of prompts.entries()) {
    yield TEXT_UNITS;
    texts.set(prompt, redacted[at] ?? prompt.text);
  }
  for (const reading of otherReadings) {
    const again: RequestText[] = [];
    for (const prompt of reading) {
      yield TEXT_UNITS;
      again.push({ ...prompt, text: texts.get(prompt) ?? prompt.text });
    }
    for (const [at, text] of (yield* redactedTexts(guards, again)).entries()) {
      const prompt = reading[at];
      if (prompt !== undefined) texts.set(prompt, text);
    }
  }
  return [...texts.values()];
}

/** The same of the others, each alone. */
function* redactedOthers(guards: Guards, others: readonly RequestText[]): Steps<readonly string[]> {
  return (yield* redactedTexts(guards, yield* quoted(others))).filter((_, at) => at % 2 === 0);
}

/** The body with the policy's replacements. */
async function redacted(
  call: Call,
  guards: Guards,
  given: OutgoingBody,
  { prompts, otherReadings, others, toolResults }: GuardedTexts,
  { matched, inResults }: Examined,
): Promise<OutgoingBody> {
  if (!matched) return given;
  if (given instanceof FormOutgoing) {
    given.replaceTexts(await inTurns(call, redactedTexts(guards, prompts)));
    return given;
  }
  const replaced = new Map<number, Edit>();
  const unsigned: Span[] = [];
  const replace = function* (texts: readonly RequestText[], others: readonly string[]): Steps<void> {
    for (const [at, { text, span, signature }] of texts.entries()) {
      yield TEXT_UNITS;
      const other = others[at] ?? text;
      if (other === text) continue;
      replaced.set(span.start, { span, text: yield* writtenInSteps(other) });
      if (signature !== undefined) unsigned.push(signature);
    }
  };
  const replaceAll = function* (): Steps<void> {
    yield* replace(prompts, yield* redactedPrompts(guards, prompts, otherReadings));
    yield* replace(others, yield* redactedOthers(guards, others));
    for (const [nth, texts] of toolResults.entries()) {
      const blocked = inResults[nth]?.some(({ scanner }) => isBlocking(guards, scanner)) === true;
      const instead = blocked ? texts.map((_, at) => (at === 0 ? BLOCKED_RESULT : "")) : null;
      yield* replace(texts, instead ?? (yield* redactedTexts(guards, texts)));
    }
  };
  await inTurns(call, replaceAll());
  const empty = new TextEncoder().encode('""');
  // a signature may be examined, and replaced, as a separate text
  for (const span of unsigned) replaced.set(span.start, { span, text: empty });
  const edits = [...replaced.values()];
  if (edits.length === 0 || !(given instanceof JsonOutgoing)) return given;
  const outgoing = await inTurns(call, given.edited(edits));
  call.cleanups.push(() => outgoing.release());
  return outgoing;
}

/** The texts of a body; a form is read to its end for them. */
async function textsOf(call: Call, given: OutgoingBody, guards: Guards): Promise<GuardedTexts> {
  if (given instanceof FormOutgoing) return formTexts(await given.readTexts());
  return await jsonTexts(call, given.clientBytes ?? [], guards);
}

async function jsonTexts(call: Call, bytes: readonly Uint8Array[], { scansAssistant }: Guards): Promise<GuardedTexts> {
  return await inTurns(call, guardedTexts(bytes, textScopeOf(call.path, call.route), scansAssistant));
}

function formTexts(texts: readonly string[]): GuardedTexts {
  const prompts = texts.map((text) => ({ text, user: true, span: { start: 0, end: 0 } }));
  const nothing = { beside: [], hasSystem: false, otherReadings: [], others: [], toolResults: [] };
  return { prompts, ...nothing, hasTokenIds: false, isWhole: true };
}
