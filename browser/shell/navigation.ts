/** The pages of the console by who sees them, in the order of the navigation. */
import {
  Activity,
  Bell,
  BookOpen,
  Bot,
  Box,
  ChartColumn,
  Gauge,
  History,
  KeyRound,
  ListChecks,
  type LucideIcon,
  MessagesSquare,
  Plug,
  Scale,
  ScrollText,
  Server,
  Settings,
  SlidersHorizontal,
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
  /** Nobody who can only read has anything to do there. */
  readonly writes?: boolean;
}

/** Groups, which are set apart: traffic, what serves it, who sends it, what calls by hand, the gateway itself. */
const NAVIGATION = [
  [
    { to: "/portal", text: "portal", icon: Gauge, roles: ["user"] },
    { to: "/", text: "overview", icon: Gauge, roles: ["admin"] },
    { to: "/alerts", text: "alerts", icon: Bell, roles: ["admin"] },
    { to: "/fairshare", text: "fairshare", icon: Scale, roles: ["admin"] },
    { to: "/logs", text: "logs", icon: ScrollText, roles: ["admin", "user"] },
    { to: "/service", text: "service", icon: Activity, roles: ["admin", "user"] },
    { to: "/reports", text: "reports", icon: ChartColumn, roles: ["admin"] },
    { to: "/reports", text: "portalUsage", icon: ChartColumn, roles: ["user"] },
    { to: "/batches", text: "batches", icon: ListChecks, roles: ["admin", "user"] },
    { to: "/portal/limits", text: "portalLimits", icon: SlidersHorizontal, roles: ["user"] },
  ],
  [
    { to: "/models", text: "models", icon: Box, roles: ["admin"] },
    { to: "/portal/models", text: "portalModels", icon: Box, roles: ["user"] },
    { to: "/deployments", text: "deployments", icon: Server, roles: ["admin"] },
    { to: "/mcp", text: "mcp", icon: Plug, roles: ["admin"] },
  ],
  [
    { to: "/tenants", text: "tenants", icon: Users, roles: ["admin"] },
    { to: "/keys", text: "keys", icon: KeyRound, roles: ["admin", "user"] },
    { to: "/users", text: "users", icon: UserCog, roles: ["admin"] },
  ],
  [
    { to: "/playground", text: "playground", icon: MessagesSquare, roles: ["admin", "user"], writes: true },
    { to: "/portal/guide", text: "portalGuide", icon: BookOpen, roles: ["user"] },
    { to: "/assistant", text: "assistant", icon: Bot, roles: ["admin"], writes: true },
  ],
  [
    { to: "/audit", text: "audit", icon: History, roles: ["admin"] },
    { to: "/settings", text: "settings", icon: Settings, roles: ["admin"] },
  ],
] as const satisfies readonly (readonly NavigationEntry[])[];

/** What decides over where a person can go. */
interface Viewer {
  readonly role: "admin" | "user";
  readonly isReadOnly: boolean;
}

type Entry = (typeof NAVIGATION)[number][number];

/** What a person can go to, by groups that are set apart; no group is empty. `without`: pages of features that are not configured. */
export function navigationOf(
  { role, isReadOnly }: Viewer,
  without: readonly string[] = [],
): readonly (readonly Entry[])[] {
  const mayGo = ({ roles, writes, to }: NavigationEntry): boolean =>
    roles.includes(role) && !(isReadOnly && writes === true) && !without.includes(to);
  return NAVIGATION.map((group) => group.filter(mayGo)).filter((group) => group.length > 0);
}
