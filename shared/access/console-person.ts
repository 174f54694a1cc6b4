/**
 * As whom the console's server has answered: every answer below /api/live says it in a header, so that an open page notices at once
 * that its person has another role or tenant (docs/rules/console.md#sessions).
 */

/** The header. It tells a browser nothing that `/api/session` does not. */
export const PERSON_HEADER = "x-gateway-console-person";

interface Person {
  readonly id: string;
  readonly role: string;
  readonly tenant_id: string | null;
}

/** What decides over what a person sees, as the value of the header. */
export function personOf({ id, role, tenant_id }: Person): string {
  return [id, role, tenant_id ?? ""].join(" ");
}
