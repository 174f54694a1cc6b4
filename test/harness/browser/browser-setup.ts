/**
 * What all tests in a browser share: one whole stack with its console on, a provider at which people sign in, and one
 * browser. Each test has a context of its own, as private windows are.
 */
import type { TestProject } from "vitest/node";
import { setupWith } from "../global-setup.ts";
import { CLIENT_ID, CLIENT_SECRET, startSignInProvider } from "../sign-in-provider.ts";
import { launchChromium } from "./chromium.ts";

declare module "vitest" {
  export interface ProvidedContext {
    readonly browserAddress: string;
  }
}

/** The provider's part in the console's addresses, and its name. */
export const PROVIDER = { id: "corp", name: "Corp" } as const;

/** Starts everything; returns the function that ends it. @exported Vitest calls it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const browser = await launchChromium();
  const provider = await startSignInProvider();
  const { issuer } = provider;
  const closeStack = await setupWith(project, {
    // replicas of a test's own scheduler start and end within seconds
    GATEWAY_PROVISIONER_INTERVAL_SECS: "1",
    GATEWAY_PROVISIONER_DRAIN_SECS: "1",
    // captures are sealed
    GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
    GATEWAY_DASHBOARD: "1",
    GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0",
    OIDC_PROVIDERS: JSON.stringify([
      { ...PROVIDER, issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET, groups_claim: "groups" },
    ]),
  });
  project.provide("browserAddress", browser.wsEndpoint());
  return async () => {
    await browser.close();
    await closeStack();
    await provider.close();
  };
}
