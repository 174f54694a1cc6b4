/**
 * A front as a process: the program of the machine, with a configuration of infra/fronts in which addresses, names of files
 * and ports are those of the test.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { makeCertificate } from "../harness/certificates.ts";
import { isListening, ownPort } from "../harness/own-port.ts";
import { startProcess } from "../harness/program-process.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { FrontAddress } from "./https-client.ts";

/** The names that the configurations of infra/fronts have. */
export const DATA_PLANE = "gateway.example.org";
export const CONSOLE = "console.example.org";

const FRONTS = join(import.meta.dirname, "../../infra/fronts");

/** What a test puts into a configuration. */
interface Surroundings {
  /** A folder that is removed after the tests. */
  readonly folder: string;
  readonly port: number;
  /** Another free port. */
  readonly plainPort: number;
  readonly certFile: string;
  readonly keyFile: string;
}

/** A program that serves a configuration. */
export interface FrontProgram {
  /** Where it is, and how to install it. */
  readonly path: string;
  readonly install: string;
  /** The file in infra/fronts. */
  readonly configuration: string;
  /** Texts of the configuration, and what stands in their place; each must occur. */
  readonly changes: (at: Surroundings) => readonly (readonly [text: string, instead: string])[];
  /** What ends it at once, with its own processes. */
  readonly endBy: NodeJS.Signals;
  readonly args: (configFile: string, at: Surroundings) => readonly string[];
}

interface RunningFront extends FrontAddress {
  readonly folder: string;
}

/** Registers hooks that start the front before the tests of a file and end it after them. */
export function useFront(program: FrontProgram): () => RunningFront {
  const folder = mkdtempSync(join(tmpdir(), "gateway-front-"));
  let address: RunningFront | undefined;
  let stop = async (): Promise<void> => undefined;
  beforeAll(async () => {
    if (!existsSync(program.path)) throw new Error(`the tests of fronts need ${program.path}: ${program.install}`);
    const { cert, key } = await makeCertificate([DATA_PLANE, CONSOLE]);
    const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key, { mode: 0o600 });
    const at = { folder, port: await ownPort(), plainPort: await ownPort(), certFile, keyFile };
    const configFile = join(folder, program.configuration);
    const text = readFileSync(join(FRONTS, program.configuration), "utf8");
    writeFileSync(configFile, changed(text, program.changes(at)));
    const env = { PATH: process.env["PATH"], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const server = startProcess(program.path, program.args(configFile, at), { env }, () => undefined);
    stop = async () => void (await server.end(program.endBy));
    await Promise.race([waitFor(async () => await isListening(at.port)), server.ready]);
    address = { port: at.port, plainPort: at.plainPort, ca: cert, folder };
  });
  afterAll(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return () => {
    if (address === undefined) throw new Error("the front starts with the tests");
    return address;
  };
}

/** The text with every occurrence changed. Throws for a text that does not occur: then the test tests something else. */
function changed(text: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((now, [from, to]) => {
    if (!now.includes(from)) throw new Error(`the configuration has no ${from}`);
    return now.replaceAll(from, to);
  }, text);
}
