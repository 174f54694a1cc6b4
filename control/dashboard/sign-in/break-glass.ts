/** The admin whom the environment names, and who can sign in when no provider can (docs/rules/console.md#break-glass). */
import { createHash, timingSafeEqual } from "node:crypto";
import type { DashboardEnv } from "../env.ts";

/** Whether these are the admin's email and password. Takes the same time for every wrong pair. */
export function isBreakGlass(
  { adminEmail, password }: Pick<DashboardEnv, "adminEmail" | "password">,
  given: { readonly email: string; readonly password: string },
): boolean {
  const email = timingSafeEqual(digest(given.email.trim().toLowerCase()), digest(adminEmail));
  const secret = timingSafeEqual(digest(given.password), digest(password));
  return email && secret;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
