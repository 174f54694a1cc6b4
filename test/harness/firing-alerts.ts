import type { Stack } from "../../infra/local/stack.ts";

export async function firingAlerts({
  adminUrl,
  adminToken,
}: Pick<Stack, "adminUrl" | "adminToken">): Promise<readonly { readonly key: string; readonly detail: string }[]> {
  const response = await fetch(`${adminUrl}/api/v1/alerts`, { headers: { authorization: `Bearer ${adminToken}` } });
  return ((await response.json()) as { firing: { key: string; detail: string }[] }).firing;
}
