/** The pages of the console by who sees them, in the order of the navigation. */
import {
  BookOpen,
  Box,
  ChartColumn,
  Gauge,
  History,
  KeyRound,
  type LucideIcon,
  Scale,
  ScrollText,
  UserCog,
  Users,
} from "lucide-react";
import type { pageTexts } from "../messages/en/pages.ts";

interface NavigationEntry {
  readonly to: string;
  /** Identifier of its text in the catalogue of pages. */
  readonly text: keyof typeof pageTexts;
  readonly icon: LucideIcon;
  /** Who sees it. */
  readonly roles: readonly ("admin" | "user")[];
}

/** Groups, which are set apart: the own tenant, traffic, what serves it, who sends it. */
const NAVIGATION = [
  [
    { to: "/portal", text: "portal", icon: Gauge, roles: ["user"] },
    { to: "/portal/models", text: "portalModels", icon: Box, roles: ["user"] },
    { to: "/portal/usage", text: "portalUsage", icon: ChartColumn, roles: ["user"] },
    { to: "/portal/guide", text: "portalGuide", icon: BookOpen, roles: ["user"] },
  ],
  [
    { to: "/", text: "overview", icon: Gauge, roles: ["admin"] },
    { to: "/fairshare", text: "fairshare", icon: Scale, roles: ["admin"] },
    { to: "/logs", text: "logs", icon: ScrollText, roles: ["admin", "user"] },
    { to: "/reports", text: "reports", icon: ChartColumn, roles: ["admin"] },
  ],
  [
    { to: "/tenants", text: "tenants", icon: Users, roles: ["admin"] },
    { to: "/keys", text: "keys", icon: KeyRound, roles: ["admin", "user"] },
    { to: "/users", text: "users", icon: UserCog, roles: ["admin"] },
    { to: "/audit", text: "audit", icon: History, roles: ["admin"] },
  ],
] as const satisfies readonly (readonly NavigationEntry[])[];

type Entry = (typeof NAVIGATION)[number][number];

/** What a role can go to, by groups that are set apart; no group is empty. The few pages of a `user` are one group. */
export function navigationOf(role: "admin" | "user"): readonly (readonly Entry[])[] {
  const mayGo = ({ roles }: NavigationEntry): boolean => roles.includes(role);
  const groups = NAVIGATION.map((group) => group.filter(mayGo)).filter((group) => group.length > 0);
  return role === "user" ? [groups.flat()] : groups;
}
