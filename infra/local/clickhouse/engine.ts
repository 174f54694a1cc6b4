/**
 * The embedded engine: a few sessions on one folder, each with one statement at a time, and one for inserts, which wait behind
 * no read. A failed statement can leave rows that would come before the session's next answer, so a session that met any error
 * is always closed and replaced. One more session, never used for requests, keeps the engine open meanwhile.
 */
import { Session } from "chdb";
import { LeftLine, WaitingLine } from "../../../control/kernel/waiting-line.ts";
import { ClickhouseError, type EngineRequest, literal, readInsert } from "./request.ts";

/** The result of a statement. */
interface EngineResult {
  readonly bytes: Uint8Array;
  readonly readRows: number;
  readonly readBytes: number;
  readonly writtenRows: number;
  readonly writtenBytes: number;
}

/** The engine, opened on a folder. */
export interface Engine {
  /** Runs one statement; `left`: nobody waits for it any more, so it does not start. Throws ClickhouseError. */
  run(request: EngineRequest, left?: AbortSignal): Promise<EngineResult>;
  /** Runs no further statement, and releases the folder when those that run have ended. */
  close(): Promise<void>;
}

const RAW_INSERT_FORMATS = [
  "JSONEachRow",
  "JSONCompactEachRow",
  "CSV",
  "CSVWithNames",
  "TabSeparated",
  "TabSeparatedWithNames",
] as const;

function failure(error: unknown): ClickhouseError {
  if (error instanceof ClickhouseError) return error;
  if (error instanceof LeftLine) return new ClickhouseError(394, "Query was cancelled", "QUERY_WAS_CANCELLED");
  const text = error instanceof Error ? error.message : "unknown failure";
  const found = /Code: (\d+)\. DB::Exception: ([\s\S]*?)(?:\s*\(([A-Z_]+)\))?(?:\s*\(version [^)]*\))?\s*$/.exec(text);
  if (found === null) return new ClickhouseError(1002, text.replace(/\.?\s*$/, ""), "UNKNOWN_EXCEPTION");
  return new ClickhouseError(Number(found[1]), (found[2] ?? "").trim(), found[3] ?? "UNKNOWN_EXCEPTION");
}

async function insert(session: Session, request: EngineRequest, data: Buffer): Promise<EngineResult> {
  const target = readInsert(request.sql);
  const format = RAW_INSERT_FORMATS.find((known) => known === target?.format);
  if (target === undefined || format === undefined) {
    throw new ClickhouseError(73, `Unknown input format ${target?.format ?? ""}`, "UNKNOWN_FORMAT");
  }
  const done = await session.insert({
    table: target.table.includes(".") ? target.table : `${request.database}.${target.table}`,
    values: data,
    format,
    settings: { ...request.settings, ...target.settings },
    ...(target.columns === undefined ? {} : { columns: target.columns }),
  });
  return {
    bytes: new Uint8Array(),
    readRows: 0,
    readBytes: 0,
    writtenRows: done.rowsWritten,
    writtenBytes: done.bytesWritten,
  };
}

async function query(session: Session, request: EngineRequest): Promise<EngineResult> {
  const prefix = [`USE \`${request.database.replace(/[\\`]/g, "\\$&")}\``];
  for (const [name, value] of Object.entries(request.params)) prefix.push(`SET param_${name}=${literal(value)}`);
  const settings = Object.entries(request.settings);
  if (settings.length > 0)
    prefix.push(`SET ${settings.map(([name, value]) => `${name}=${literal(value)}`).join(", ")}`);
  const done = await session.queryAsync(`${prefix.join(";")};${request.sql}`, { format: request.format });
  return { bytes: done.bytes(), readRows: done.rowsRead, readBytes: done.bytesRead, writtenRows: 0, writtenBytes: 0 };
}

/** More statements than this do not wait for a session. */
const WAITING_MAX = 1000;

/** Sessions for statements of one kind. */
interface SessionPool {
  readonly idle: Session[];
  readonly line: WaitingLine;
}

const poolOf = (sessions: readonly Session[]): SessionPool => ({
  idle: [...sessions],
  line: new WaitingLine(sessions.length),
});

/** Opens the engine on a folder with `sessions` sessions for reads. Throws when another process holds the folder. */
export function openEngine(folder: string, sessions: number): Engine {
  const open = () => new Session(folder, { connectionArgs: ["--output_format_json_quote_64bit_integers=1"] });
  const anchor = open();
  const forReads = Array.from({ length: sessions }, open);
  const forInserts = open();
  const all = new Set([...forReads, forInserts]);
  const reads = poolOf(forReads);
  const inserts = poolOf([forInserts]);
  const running = new Set<Promise<unknown>>();
  let closed = false;

  const replace = (session: Session): Session => {
    all.delete(session);
    session.close();
    const fresh = open();
    all.add(fresh);
    return fresh;
  };

  const run = async (request: EngineRequest, left: AbortSignal | undefined): Promise<EngineResult> => {
    const { idle, line } = request.data === undefined ? reads : inserts;
    if (line.length >= WAITING_MAX)
      throw new ClickhouseError(202, "Too many simultaneous queries", "TOO_MANY_SIMULTANEOUS_QUERIES");
    const end = await line.begin(left).catch((error: unknown) => {
      throw failure(error);
    });
    let session = idle.pop() as Session;
    // A SET lasts as long as its session, so a session that got parameters or settings is not used again.
    let used =
      Object.keys(request.params).length + Object.keys(request.settings).length > 0 && request.data === undefined;
    try {
      if (closed) throw new ClickhouseError(236, "The engine is closed", "ABORTED");
      return request.data === undefined ? await query(session, request) : await insert(session, request, request.data);
    } catch (error) {
      used = true;
      throw failure(error);
    } finally {
      if (used && !closed) session = replace(session);
      idle.push(session);
      end();
    }
  };

  return {
    run: async (request, left) => {
      const work = run(request, left);
      running.add(work);
      return await work.finally(() => running.delete(work));
    },
    close: async () => {
      closed = true;
      await Promise.allSettled(running);
      for (const session of all) session.close();
      anchor.close();
    },
  };
}
