/** Secrets that the stack makes itself and keeps in its data folder, readable by its owner only. */
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The admin token of a data folder: made on the first start, the same ever after. `made` tells whether it is new. */
export function storedAdminToken(dataDir: string): { readonly token: string; readonly made: boolean } {
  const path = join(dataDir, "admin-token");
  try {
    const token = readFileSync(path, "utf8").trim();
    if (token !== "") return { token, made: false };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const token = randomBytes(24).toString("base64url");
  writeFileSync(path, `${token}\n`, { mode: 0o600 });
  return { token, made: true };
}
