/**
 * Which account of the platform is deployed to. It is chosen here and named in each command, because wrangler would otherwise
 * take the one that it remembers of an earlier login. Pure.
 */

/** An account of the platform. */
export interface Account {
  readonly id: string;
  readonly name: string;
}

/** The account, or why it is not clear which one it is. */
type AccountChoice =
  | { readonly account: Account; readonly problem: null }
  | { readonly account: null; readonly problem: string };

const textOf = ({ id, name }: Account): string => `${name} (${id})`;

/**
 * Chooses among the accounts that the credentials reach. `wanted`: the id in wrangler.toml or CLOUDFLARE_ACCOUNT_ID; null:
 * none is named, which is enough where there is one alone.
 */
export function chooseAccount(accounts: readonly Account[], wanted: string | null): AccountChoice {
  const [only, ...more] = accounts;
  const reached = accounts.map(textOf).join(", ");
  if (only === undefined) return { account: null, problem: "the credentials reach no account" };
  if (wanted !== null) {
    const account = accounts.find(({ id }) => id === wanted);
    if (account !== undefined) return { account, problem: null };
    return { account: null, problem: `the credentials do not reach the account ${wanted}, but ${reached}` };
  }
  if (more.length === 0) return { account: only, problem: null };
  return { account: null, problem: `the credentials reach ${reached}: set CLOUDFLARE_ACCOUNT_ID to one of them` };
}
