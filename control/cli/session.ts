/**
 * What every command uses: the client, and the two forms of output. When the API refuses, or the service is unreachable,
 * the command ends with one line that says what to do.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { isWebUrl, NO_WEB_URL } from "../../shared/env/env-fields.ts";
import { terminalText } from "../../shared/text/printable.ts";
import { type GatewayClient, gatewayClient } from "../api/client/client.ts";
import { printJson, printRecord, printTable, printWarnings } from "./output.ts";

const DEFAULT_URL = "http://127.0.0.1:9180";

/** Ends the command with its message as one line, and exit code 1. */
export class CliError extends Error {
  override readonly name = "CliError";
}

interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

export class Session {
  readonly client: GatewayClient;
  readonly #url: string;
  readonly #json: boolean;

  constructor(options: { readonly url?: string; readonly json?: boolean }) {
    this.#url = adminUrlOf(options.url);
    this.#json = options.json ?? false;
    this.client = gatewayClient({ url: this.#url, token: adminToken(), actor: "cli" });
  }

  /** The body of the API's answer; null when it has none. Throws CliError. */
  async bodyOf<T>(call: Promise<Answer<T>>): Promise<T> {
    const { data, error, response } = await call.catch((cause: unknown) => {
      const reason = cause instanceof Error && cause.cause instanceof Error ? `: ${cause.cause.message}` : "";
      throw new CliError(`cannot reach ${this.#url}${reason}; is the gateway running, and is --url right?`);
    });
    if (response.ok) {
      if (response.headers.get("x-gateway-sync") === "pending")
        process.stderr.write("saved; a store or cell has not confirmed it yet, and the gateway keeps trying\n");
      return data as T;
    }
    throw new CliError(refusal(response, error));
  }

  /** The rows of all pages of a list. Throws CliError. */
  async rowsOfAllPages<T>(page: (cursor: string | undefined) => Promise<Answer<T[]>>): Promise<T[]> {
    const rows: T[] = [];
    let cursor: string | undefined;
    do {
      const answer = page(cursor);
      rows.push(...(await this.bodyOf(answer)));
      cursor = /[?&]cursor=([^&>]+)/.exec((await answer).response.headers.get("link") ?? "")?.[1];
    } while (cursor !== undefined);
    return rows;
  }

  /** Shows rows with these columns, or all of them as JSON. */
  list<T extends object>(rows: readonly T[], columns: readonly (keyof T & string)[]): void {
    if (this.#json) printJson(rows);
    else printTable(rows as readonly Readonly<Record<string, unknown>>[], columns);
  }

  /** Shows the rows of a record with these columns, or the whole record as JSON. */
  listIn<T extends object>(record: object, rows: readonly T[], columns: readonly (keyof T & string)[]): void {
    if (this.#json) printJson(record);
    else this.list(rows, columns);
  }

  /** Shows one record, and its warnings unless the output is JSON. */
  record(value: object): void {
    if (this.#json) {
      printJson(value);
      return;
    }
    const { warnings, ...fields } = value as Readonly<Record<string, unknown>> & {
      readonly warnings?: readonly string[];
    };
    printRecord(fields);
    printWarnings(warnings ?? []);
  }

  /** Shows a record as tables, and its warnings, or the whole record as JSON. */
  tables(
    record: { readonly warnings: readonly string[] },
    tables: readonly {
      readonly rows: readonly Readonly<Record<string, unknown>>[];
      readonly columns: readonly string[];
    }[],
  ): void {
    if (this.#json) {
      printJson(record);
      return;
    }
    for (const { rows, columns } of tables) printTable(rows, columns);
    printWarnings(record.warnings);
  }

  /** Writes what was done, unless the output is JSON. */
  say(line: string): void {
    if (!this.#json) process.stdout.write(`${terminalText(line)}\n`);
  }
}

/** The session of a command, from the options of its program. */
export function sessionOf(command: Command): Session {
  return new Session(command.optsWithGlobals<{ url?: string; json?: boolean }>());
}

/** The address of the admin listener: that of the option, else of the variable, else of a stack on this machine. */
export function adminUrlOf(option: string | undefined): string {
  const url = option ?? process.env["GATEWAY_ADMIN_BASE_URL"] ?? DEFAULT_URL;
  if (!isWebUrl(url)) throw new CliError(`--url (GATEWAY_ADMIN_BASE_URL) ${NO_WEB_URL}`);
  return url;
}

/** GATEWAY_ADMIN_TOKEN, else the token that a local stack on this machine has generated; null when there is neither. */
export function readAdminToken(): string | null {
  const given = process.env["GATEWAY_ADMIN_TOKEN"];
  if (given !== undefined && given !== "") return given;
  const path = join(process.env["GATEWAY_DATA_DIR"] || ".data", "admin-token");
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return null;
  }
}

function adminToken(): string {
  const token = readAdminToken();
  if (token === null)
    throw new CliError(
      "no admin token: set GATEWAY_ADMIN_TOKEN, or GATEWAY_DATA_DIR to the data folder of a gateway on this machine",
    );
  return token;
}

function refusal(response: Response, body: unknown): string {
  if (response.status === 401) return "the admin token is not accepted: set GATEWAY_ADMIN_TOKEN to the gateway's";
  const { error } = (typeof body === "object" && body !== null ? body : {}) as {
    error?: { message?: string; details?: readonly { path: string; message: string }[] };
  };
  if (error?.message === undefined) return `the gateway answered ${response.status}`;
  const details = (error.details ?? []).map(({ path, message }) => `\n  ${terminalText(`${path}: ${message}`)}`);
  return `${terminalText(error.message)}${details.join("")}`;
}
