/**
 * Step 4, second half: the input guardrails of the tenant (docs/rules/guardrails.md#where-it-looks,
 * docs/rules/guardrails.md#actions). A policy is judged at its use: a request whose records are read again is examined
 * again when its policy is another one by then, in the words of its client.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { ScanMatch } from "../../../shared/guardrails/text-scan.ts";
import type { Edit } from "../../domain/bytes/byte-pieces.ts";
import {
  type GuardedTexts,
  guardedTexts,
  type RequestText,
  textScopeOf,
} from "../../domain/guardrails/request-texts.ts";
import { OpenSpan } from "../../domain/trace/trace.ts";
import { authenticateNow } from "../access/authenticate-now.ts";
import { FormOutgoing } from "../body/form-outgoing.ts";
import { JsonOutgoing } from "../body/json-outgoing.ts";
import type { OutgoingBody } from "../call/client-body.ts";
import { type Call, OnceLatch } from "../call/context.ts";
import { type Guards, guardsOf, isBlocking } from "../call/guards.ts";
import { type Prepared, StageFailure } from "../call/known.ts";
import { sendLateSpan, withSpan } from "../report/spans.ts";
import { runScan } from "./run-scan.ts";

/** What stands in place of a tool's result that is blocked. */
export const BLOCKED_RESULT = "error: blocked by content policy";

/** How often a request that would be refused is judged by a newer policy. */
const POLICIES_MAX = 3;

/**
 * The request as the policy lets it pass. Throws the failure of 400 `request_blocked`, 503 `content_policy_unavailable`,
 * whatever the caller's current records refuse it with, and what a form that is read to its end throws.
 */
export async function guardInput(call: Call, request: Prepared): Promise<Prepared> {
  let current = request;
  for (let look = 1; ; look += 1) {
    const passed = await guarded(call, current).catch((error: unknown) => {
      throw StageFailure.of(error, current);
    });
    if (typeof passed !== "string") return passed;
    const newer = await judgedNow(call, current);
    if (newer === null || look === POLICIES_MAX) throw new StageFailure(new GatewayError(passed), current);
    current = newer;
  }
}

/** The request, if its policy lets it pass; else what it is refused with. */
async function guarded(
  call: Call,
  request: Prepared,
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
    const texts = await textsOf(call, given);
    const found = await examine(call, unchanged, guards, texts, span);
    if (found.blocked) return "request_blocked";
    if (found.unjudged) return "content_policy_unavailable";
    const outgoing = redacted(call, guards, given, texts, found);
    return { ...unchanged, parsed: { ...request.parsed, outgoing }, guarded: noted };
  });
}

/**
 * The request with the caller's records as they are now, when they have another policy than it was judged by; null: they
 * have the same. Throws the failure of what the caller is refused with now.
 */
async function judgedNow(call: Call, request: Prepared): Promise<Prepared | null> {
  try {
    const { principal, identity } = await authenticateNow(call, request);
    if (principal.tenant.rev === request.principal.tenant.rev) return null;
    return { ...request, principal, identity };
  } catch (error) {
    const failure = StageFailure.of(error, request);
    // the refusal stands when it cannot be found out whether the caller's access is still valid
    if (failure.cause instanceof GatewayError && failure.cause.status < 500) throw failure;
    return null;
  }
}

/** Examines the request once, when nothing waits for it any more. */
function besideOf(call: Call, request: Prepared, guards: Guards, given: OutgoingBody): () => void {
  const latch = new OnceLatch();
  const bytes = given.clientBytes;
  const scan = async (): Promise<void> => {
    await call.ports.sleep(0, call.request.signal);
    const span = new OpenSpan("boon:guardrails_input", call.ports.clock());
    const texts = given instanceof FormOutgoing ? formTexts(given.textsSoFar()) : jsonTexts(call, bytes ?? []);
    await examine(call, request, guards, texts, span).catch(() => span.fail());
    span.end(call.ports.clock());
    sendLateSpan(call, request, span);
  };
  return () => {
    if (latch.take()) call.waitUntil(scan());
  };
}

interface Examined {
  readonly blocked: boolean;
  readonly unjudged: boolean;
  /** Something was found, in the prompts or in a tool's result. */
  readonly matched: boolean;
  /** The matches in each tool's result. */
  readonly inResults: readonly (readonly ScanMatch[])[];
}

/** Runs the scanners, and reports what they found. A tool's result is blocked by itself. Throws ClientGone. */
async function examine(
  call: Call,
  request: Prepared,
  guards: Guards,
  { prompts, toolResults }: GuardedTexts,
  span: OpenSpan,
): Promise<Examined> {
  const inResults = toolResults.map((texts) => guards.scan.scanTexts(texts));
  const verdict = await runScan(call, request, {
    side: "input",
    guards,
    span,
    find: () => ({ matches: guards.scan.scanTexts(prompts), apart: inResults.flat() }),
    harmText: () => prompts.map(({ text }) => text).join("\n"),
  });
  return { ...verdict, inResults };
}

/** The body with what the policy replaces. */
function redacted(
  call: Call,
  guards: Guards,
  given: OutgoingBody,
  { prompts, toolResults }: GuardedTexts,
  { matched, inResults }: Examined,
): OutgoingBody {
  if (!matched) return given;
  const redact = (texts: readonly RequestText[]): readonly string[] =>
    guards.action === "redact" ? guards.scan.redactTexts(texts).texts : texts.map(({ text }) => text);
  const edits = editsOf(prompts, redact(prompts));
  for (const [nth, texts] of toolResults.entries()) {
    const blocked = inResults[nth]?.some(({ scanner }) => isBlocking(guards, scanner)) === true;
    const replaced = blocked ? texts.map((_, at) => (at === 0 ? BLOCKED_RESULT : "")) : redact(texts);
    for (const edit of editsOf(texts, replaced)) edits.push(edit);
  }
  if (edits.length === 0) return given;
  if (given instanceof FormOutgoing) {
    given.replaceTexts(redact(prompts));
    return given;
  }
  if (!(given instanceof JsonOutgoing)) return given;
  const outgoing = given.edited(edits);
  call.cleanups.push(() => outgoing.release());
  return outgoing;
}

function editsOf(texts: readonly RequestText[], replaced: readonly string[]): Edit[] {
  return texts.flatMap(({ text, span }, at) => {
    const other = replaced[at] ?? text;
    return other === text ? [] : [{ span, text: JSON.stringify(other) }];
  });
}

/** The texts of a body; a form is read to its end for them. */
async function textsOf(call: Call, given: OutgoingBody): Promise<GuardedTexts> {
  if (given instanceof FormOutgoing) return formTexts(await given.readTexts());
  return jsonTexts(call, given.clientBytes ?? []);
}

function jsonTexts(call: Call, bytes: readonly Uint8Array[]): GuardedTexts {
  return guardedTexts(bytes, textScopeOf(call.path, call.route));
}

function formTexts(texts: readonly string[]): GuardedTexts {
  return { prompts: texts.map((text) => ({ text, user: true, span: { start: 0, end: 0 } })), toolResults: [] };
}
