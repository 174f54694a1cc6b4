/** What an upstream records of a call: enough to check that it arrived whole, whatever its body was. */
import type { IncomingHttpHeaders } from "node:http";

/** A file in a form, as it arrived. */
export interface SeenFile {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sha256: string;
}

export interface SeenCall {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly size: number;
  readonly sha256: string;
  /** Of JSON bodies; null for others. */
  readonly json: Readonly<Record<string, unknown>> | null;
  /** Text fields of forms. */
  readonly fields: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, SeenFile>>;
}
