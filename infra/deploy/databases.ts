/** The databases of a deployment: the changes that the new version needs, and the change itself. */
import pino from "pino";
import { connect } from "../../control/db/connect.ts";
import { migrate, pendingMigrations } from "../../control/db/migrate.ts";
import { AnalyticsStore } from "../../control/usage/analytics/store.ts";

/** Where the databases are. */
export interface DatabaseAddresses {
  readonly databaseUrl: string;
  readonly clickhouse: { readonly url: string; readonly db: string; readonly user: string; readonly password: string };
}

/** The database operations of a deployment. */
export interface Databases {
  /**
   * The migrations that the configuration database has not had. Rejects when it does not answer, or knows migrations that this
   * version does not.
   */
  pending(at: DatabaseAddresses): Promise<readonly string[]>;
  /** Applies pending migrations in both databases; returns the names of those applied in the first. */
  migrate(at: DatabaseAddresses): Promise<readonly string[]>;
}

/** The real ones. */
export const DATABASES: Databases = {
  pending: async ({ databaseUrl }) => {
    const connection = await connect(databaseUrl);
    try {
      return await pendingMigrations(connection);
    } finally {
      await connection.close();
    }
  },
  migrate: async ({ databaseUrl, clickhouse }) => {
    const connection = await connect(databaseUrl);
    try {
      const applied = await migrate(connection);
      const analytics = new AnalyticsStore(clickhouse, pino({ level: "silent" }));
      await analytics.migrate();
      await analytics.close();
      return applied;
    } finally {
      await connection.close();
    }
  },
};
