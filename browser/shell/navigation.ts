/** The pages of the console by who sees them, in the order of the navigation. */
import { Gauge, KeyRound, type LucideIcon, Scale, ScrollText, Users } from "lucide-react";
import type { pageTexts } from "../messages/en/pages.ts";

interface NavigationEntry {
  readonly to: string;
  /** Identifier of its text in the catalogue of pages. */
  readonly text: keyof typeof pageTexts;
  readonly icon: LucideIcon;
  /** Who sees it. */
  readonly roles: readonly ("admin" | "user")[];
}

/** Groups, which are set apart: traffic, what serves it, who sends it. */
const NAVIGATION = [
  [
    { to: "/", text: "overview", icon: Gauge, roles: ["admin"] },
    { to: "/fairshare", text: "fairshare", icon: Scale, roles: ["admin"] },
    { to: "/logs", text: "logs", icon: ScrollText, roles: ["admin", "user"] },
  ],
  [
    { to: "/tenants", text: "tenants", icon: Users, roles: ["admin"] },
    { to: "/keys", text: "keys", icon: KeyRound, roles: ["admin", "user"] },
  ],
] as const satisfies readonly (readonly NavigationEntry[])[];

type Entry = (typeof NAVIGATION)[number][number];

/** What a role can go to, by groups that are set apart; no group is empty. */
export function navigationOf(role: "admin" | "user"): readonly (readonly Entry[])[] {
  const mayGo = ({ roles }: NavigationEntry): boolean => roles.includes(role);
  return NAVIGATION.map((group) => group.filter(mayGo)).filter((group) => group.length > 0);
}
