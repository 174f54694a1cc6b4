/**
 * The bodies of a call while its tenant's capture is on (docs/rules/capture.md#what-is-kept): the client's JSON as the guardrails let it
 * pass, and what the client got. They are kept after the call has ended.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import type { CapturedText } from "../../../shared/schema/capture.ts";
import { censored } from "../../../shared/text/redaction.ts";
import { concat } from "../../domain/wire/bytes/byte-pieces.ts";
import type { Call } from "../call/context.ts";
import type { Prepared } from "../call/known.ts";
import type { MemoryReservation } from "../call/memory/memory-budget.ts";

/** The first bytes of a body. */
class CutBody {
  readonly #memory: MemoryReservation;
  readonly #pieces: Uint8Array[] = [];
  #kept = 0;
  #bytes = 0;

  constructor(memory: MemoryReservation) {
    this.#memory = memory;
  }

  push(bytes: Uint8Array): void {
    const isWhole = this.#kept === this.#bytes;
    this.#bytes += bytes.byteLength;
    if (!isWhole) return;
    const part = bytes.slice(0, LIMITS.capturedText - this.#kept);
    if (!this.#memory.grow(part.byteLength)) return;
    this.#pieces.push(part);
    this.#kept += part.byteLength;
  }

  /** Its text, without a character that is cut. */
  text(): CapturedText {
    const text = new TextDecoder().decode(concat(this.#pieces), { stream: true });
    return { text: censored(text), bytes: this.#bytes, cut: this.#kept < this.#bytes };
  }
}

/** What is kept of a call. */
export class CapturedCall {
  readonly #call: Call;
  readonly #principal: Prepared["principal"];
  readonly #request: CutBody;
  readonly #memory: MemoryReservation;
  readonly #onEnd: () => void;
  #answer: CutBody | null = null;

  constructor(call: Call, { principal }: Prepared, body: readonly Uint8Array[], onEnd: () => void) {
    this.#call = call;
    this.#principal = principal;
    this.#memory = call.memory.cacheMemory.open();
    this.#onEnd = onEnd;
    this.#request = new CutBody(this.#memory);
    for (const part of body) this.#request.push(part);
  }

  /** Bytes that the client gets. */
  push(bytes: Uint8Array): void {
    this.#answer ??= new CutBody(this.#memory);
    this.#answer.push(bytes);
  }

  /** Keeps it, unless capture has ended meanwhile. Never rejects. */
  async keep(statusCode: number): Promise<void> {
    const { ports, requestId, path } = this.#call;
    const { key, tenant } = this.#principal;
    const now = await ports.directory.key(key.key_hash, { fresh: true }).catch(() => null);
    const isOn = ports.clock() < (now?.record.tenant?.capture_until_ms ?? 0);
    const kept =
      isOn &&
      (await ports.captures.keep({
        request_id: requestId,
        tenant_id: tenant.id,
        captured_at: new Date(ports.clock()).toISOString(),
        path,
        status_code: statusCode,
        request: this.#request.text(),
        answer: this.#answer?.text() ?? null,
      }));
    count(this.#call, kept);
    this.drop();
  }

  /** Frees its memory. */
  drop(): void {
    this.#memory.close();
    this.#onEnd();
  }
}

/** What is to be kept of the call; null: nothing. Call it while the body is still held. */
export function capturedCall(call: Call, request: Prepared): CapturedCall | null {
  const { id, capture_until_ms: untilMs } = request.principal.tenant;
  if (untilMs === null || call.arrivedMs >= untilMs) return null;
  const body = call.request.method === "POST" ? request.parsed.outgoing.clientBytes : null;
  // a call of the gateway's own has texts that guardrails have not redacted
  if (body === null || call.parentId !== null || call.line !== undefined) return null;
  const onEnd = call.memory.captures.begin(id);
  if (onEnd !== null) return new CapturedCall(call, request, body, onEnd);
  count(call, false);
  return null;
}

function count(call: Call, kept: boolean): void {
  call.ports.events.count({ metric: "gateway_captures_total", labels: [kept ? "kept" : "dropped"] });
}
