/** The pages of the console by who sees them, in the order of the navigation. */
import { BookOpen, Box, ChartColumn, Gauge, KeyRound, type LucideIcon, Scale, ScrollText, Users } from "lucide-react";

interface NavigationEntry {
  readonly to:
    | "/portal"
    | "/portal/models"
    | "/portal/usage"
    | "/portal/guide"
    | "/"
    | "/fairshare"
    | "/logs"
    | "/tenants"
    | "/keys";
  /** Identifier of its text in the catalogue of pages. */
  readonly text:
    | "portal"
    | "portalModels"
    | "portalUsage"
    | "portalGuide"
    | "overview"
    | "fairshare"
    | "logs"
    | "tenants"
    | "keys";
  readonly icon: LucideIcon;
  /** Who sees it. */
  readonly roles: readonly ("admin" | "user")[];
}

const NAVIGATION: readonly NavigationEntry[] = [
  { to: "/portal", text: "portal", icon: Gauge, roles: ["user"] },
  { to: "/portal/models", text: "portalModels", icon: Box, roles: ["user"] },
  { to: "/", text: "overview", icon: Gauge, roles: ["admin"] },
  { to: "/fairshare", text: "fairshare", icon: Scale, roles: ["admin"] },
  { to: "/logs", text: "logs", icon: ScrollText, roles: ["admin", "user"] },
  { to: "/tenants", text: "tenants", icon: Users, roles: ["admin"] },
  { to: "/keys", text: "keys", icon: KeyRound, roles: ["admin", "user"] },
  { to: "/portal/usage", text: "portalUsage", icon: ChartColumn, roles: ["user"] },
  { to: "/portal/guide", text: "portalGuide", icon: BookOpen, roles: ["user"] },
];

/** What a role can go to. */
export function navigationOf(role: "admin" | "user"): readonly NavigationEntry[] {
  return NAVIGATION.filter(({ roles }) => roles.includes(role));
}
