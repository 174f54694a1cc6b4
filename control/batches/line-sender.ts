/** Sends lines of batches to the data plane, and asks what has become of them (docs/rules/batches.md#lines). */
import { Agent, fetch, type RequestInit, type Response } from "undici";
import { z } from "zod";
import type { BatchFault } from "../../shared/schema/batch.ts";
import { oneLine } from "../../shared/text/printable.ts";
import { LINE_HEADERS, LINE_OUTCOMES, type LineOutcome } from "../../shared/wire/batch-lines.ts";
import { CELL_HEADER, INTERNAL_PATHS } from "../../shared/wire/internal.ts";
import type { CellAddress } from "../kernel/cells/cells.ts";
import { publicId } from "./batch-record.ts";

const ASK_WITHIN_MS = 5000;

/** A line that is sent. */
export interface SentLine {
  readonly batchId: string;
  readonly n: number;
  readonly tries: number;
  readonly requestId: string;
  readonly cell: string;
}

/** What a line came to: the answer's status and text. */
export interface LineResult {
  readonly status: number;
  readonly text: string;
  readonly waitedMs: number | null;
  readonly retryAfterMs: number | null;
  readonly outcome: LineOutcome | null;
}

const errorSchema = z.object({ error: z.object({ code: z.string().catch(""), message: z.string().catch("") }) });

/** The error that the gateway or an upstream answered; "": there is none. */
export function errorIn(text: string): { readonly code: string; readonly message: string } {
  try {
    return errorSchema.parse(JSON.parse(text)).error;
  } catch {
    return { code: "", message: "" };
  }
}

/** Of the error that a batch shows; its file has it whole. */
const FAULT_MAX_CHARACTERS = 500;
/** As a column of JSON takes it. */
const shortText = (text: string): string => oneLine(text).slice(0, FAULT_MAX_CHARACTERS).toWellFormed();

/** Why a line failed, as its batch shows it. `status`: null if it never ran. */
export function lineFault(
  line: number | null,
  status: number | null,
  { code, message }: { readonly code: string; readonly message: string },
): BatchFault {
  return { code: shortText(code), line, message: shortText(`${status ?? ""} ${message}`.trim()), param: null };
}

export class LineSender {
  readonly #addresses: readonly CellAddress[];
  readonly #token: string;
  // A line may wait for hours: its own time limit ends it.
  readonly #agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, pipelining: 0 });

  constructor(addresses: readonly CellAddress[], token: string) {
    this.#addresses = addresses;
    this.#token = token;
  }

  get cells(): readonly string[] {
    return this.#addresses.map(({ cell }) => cell);
  }

  /** What the line came to. Rejects when that is not known: it may have run. */
  async send(
    line: SentLine,
    call: { readonly keyHash: string; readonly path: string; readonly body: string; readonly untilMs: number },
    signal: AbortSignal,
  ): Promise<LineResult> {
    const response = await this.#fetch(line, {
      method: "POST",
      signal,
      body: call.body,
      headers: {
        [LINE_HEADERS.key]: call.keyHash,
        [LINE_HEADERS.path]: call.path,
        [LINE_HEADERS.batch]: publicId("batch", line.batchId),
        [LINE_HEADERS.until]: String(call.untilMs),
        "content-type": "application/json",
      },
    });
    return await resultOf(response);
  }

  /** `live`: it waits or runs; `gone`: it is over without an answer. Rejects when the cell does not say. */
  async ask(line: SentLine): Promise<LineResult | "live" | "gone"> {
    // a cell that is no longer listed has ended with its lines
    if (!this.cells.includes(line.cell)) return "gone";
    const response = await this.#fetch(line, { method: "GET", signal: AbortSignal.timeout(ASK_WITHIN_MS) });
    if (response.status === 200) return await resultOf(response);
    await response.body?.cancel();
    if (response.status === 202) return "live";
    if (response.status === 204) return "gone";
    throw new Error(`cell answered ${response.status}`);
  }

  async #fetch(line: SentLine, init: RequestInit): Promise<Response> {
    const address = this.#addresses.find(({ cell }) => cell === line.cell);
    if (address === undefined) throw new Error(`cell ${line.cell} is not known`);
    return await fetch(new URL(INTERNAL_PATHS.lines, address.url), {
      ...init,
      dispatcher: this.#agent,
      redirect: "manual",
      headers: {
        ...(init.headers as Record<string, string> | undefined),
        authorization: `Bearer ${this.#token}`,
        [CELL_HEADER]: line.cell,
        [LINE_HEADERS.requestId]: line.requestId,
      },
    });
  }
}

async function resultOf(response: Response): Promise<LineResult> {
  const status = Number(response.headers.get(LINE_HEADERS.status) ?? Number.NaN);
  const text = await response.text();
  if (response.status !== 200 || !Number.isInteger(status)) throw new Error(`cell answered ${response.status}`);
  const waited = response.headers.get(LINE_HEADERS.waitedMs);
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  return {
    status,
    text,
    waitedMs: waited === null ? null : Number(waited),
    retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1000 : null,
    outcome: LINE_OUTCOMES.find((each) => each === response.headers.get(LINE_HEADERS.outcome)) ?? null,
  };
}
