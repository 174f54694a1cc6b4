import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withSecretFiles } from "./secret-files.ts";

let folder: string;
const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-secrets-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("secrets in files", () => {
  it("stand in place of their variables, without the end of their line", () => {
    const env = {
      GATEWAY_ADMIN_TOKEN_FILE: file("token", "a secret \r\n"),
      DATABASE_URL_FILE: file("url", "postgres://db\n\n"),
      DASHBOARD_PASSWORD_FILE: " ",
      GOOGLE_APPLICATION_CREDENTIALS_FILE: "/not/ours",
      OTEL_EXPORTER_OTLP_HEADERS_FILE: file("headers", "authorization=Bearer%20key\n"),
      OTEL_CONFIG_FILE: "/not/ours",
      GATEWAY_CELL: "local",
    };
    expect(withSecretFiles(env)).toEqual({
      GATEWAY_ADMIN_TOKEN: "a secret ",
      DATABASE_URL: "postgres://db\n",
      GOOGLE_APPLICATION_CREDENTIALS_FILE: "/not/ours",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20key",
      OTEL_CONFIG_FILE: "/not/ours",
      GATEWAY_CELL: "local",
    });
  });

  it("are not the files of a certificate, which the gateway itself reads", () => {
    const env = { GATEWAY_TLS_CERT_FILE: file("cert", "PEM"), GATEWAY_TLS_KEY_FILE: "/nowhere/key.pem" };
    expect(withSecretFiles(env)).toEqual(env);
  });

  it.each([
    [
      "is missing",
      { GATEWAY_ADMIN_TOKEN_FILE: "/nowhere/token" },
      /^GATEWAY_ADMIN_TOKEN_FILE: the file \/nowhere\/token cannot be read: it does not exist \(ENOENT\); correct/,
    ],
    ["is a folder", { GATEWAY_ADMIN_TOKEN_FILE: "/" }, /^GATEWAY_ADMIN_TOKEN_FILE: .* \(EISDIR\)/],
    [
      "and the variable are both set",
      { GATEWAY_ADMIN_TOKEN_FILE: "/x", GATEWAY_ADMIN_TOKEN: "y" },
      /^GATEWAY_ADMIN_TOKEN and GATEWAY_ADMIN_TOKEN_FILE are both set/,
    ],
  ])("are refused when the file %s", (_, env, message) => {
    expect(() => withSecretFiles(env)).toThrow(message);
  });

  it.each([
    ["empty", " \n", /^GATEWAY_ADMIN_TOKEN_FILE: the file .* is empty/],
    ["no text", "a\0b", /^GATEWAY_ADMIN_TOKEN_FILE: the file .* is not text$/],
  ])("are refused when the file is %s", (name, text, message) => {
    expect(() => withSecretFiles({ GATEWAY_ADMIN_TOKEN_FILE: file(name, text) })).toThrow(message);
  });
});
