/**
 * Requests keys from the control service for identities that have none yet (docs/rules/identities.md#keys-of-subjects).
 * Concurrent first requests of one identity share one call.
 */
import { issues } from "../../shared/alerts.ts";
import { IDENTITIES_PATH, type ProvisionIdentity, provisionedIdentitySchema } from "../../shared/schema/identity.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import type { Identity } from "../domain/request/identity.ts";
import type { Alerts, IdentityProvisioner, Log } from "../ports.ts";
import type { ControlCalls } from "./control-calls.ts";
import { withStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

/** Many simultaneous first uses wait for one another in the control service. */
const TIMEOUT_MS = 15_000;
const JOIN_MS = 16_000;

interface ControlIdentitiesOptions {
  readonly control: ControlCalls;
  /** Lets a call continue after the request that started it has ended. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly alerts: Alerts;
  readonly log: Log;
}

export class ControlIdentities implements IdentityProvisioner {
  readonly #options: ControlIdentitiesOptions;
  readonly #calls = new Map<string, Promise<boolean>>();

  constructor(options: ControlIdentitiesOptions) {
    this.#options = options;
  }

  async provision(identity: Identity): Promise<boolean> {
    const name = JSON.stringify([identity.issuer, identity.subject]);
    const known = this.#calls.get(name);
    const joined = known === undefined ? null : await withStallTolerantTimeout(known, JOIN_MS);
    if (joined !== null) return joined.value;
    const call = this.#call(identity);
    this.#calls.set(name, call);
    this.#options.keepAlive(call);
    try {
      return await call;
    } finally {
      if (this.#calls.get(name) === call) this.#calls.delete(name);
    }
  }

  async #call({ issuer, subject, name, tenant }: Identity): Promise<boolean> {
    const { control, alerts, log } = this.#options;
    const body: ProvisionIdentity = { issuer, subject, name, tenant };
    try {
      const response = await control.post(IDENTITIES_PATH, body, TIMEOUT_MS);
      if (response.status !== 200) {
        await response.body?.cancel();
        const { status } = response;
        log.event("identity_not_provisioned", { status, reason: `${control.host} answered ${status}` });
        return false;
      }
      const { tenant_created } = provisionedIdentitySchema.parse(await response.json());
      if (tenant_created) alerts.raise(issues.identityTenantCreated(tenant, issuer));
      return true;
    } catch (error) {
      log.event("identity_not_provisioned", { reason: `${control.host}: ${rootCause(error)}` });
      return false;
    }
  }
}
