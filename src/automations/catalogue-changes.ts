import type { Transaction } from 'kysely';
import { randomHex } from '#base/random-hex.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';

/** Tells that automations changed. A process that has no connection to it now, such as a command on SQLite, is not heard. */
interface CatalogueChanges {
  /** Calls the listener after commits, of any gateway, until the function that it answers is called. */
  onChange(listener: () => void): () => void;
  /** Tells other gateways when the transaction commits. */
  announce(transaction: Transaction<Tables>): Promise<void>;
  /** Call it after the commit. */
  committed(): void;
}

const channelOfAutomations = 'gateway_automations';

export function createCatalogueChanges({ notifications }: Pick<Database, 'notifications'>): CatalogueChanges {
  const listeners = new Set<() => void>();
  const sender = randomHex(8);
  return {
    onChange(listener) {
      const silence = notifications.listen(channelOfAutomations, {
        received: (payload) => {
          if (payload !== sender) listener();
        },
        missed: listener,
      });
      listeners.add(listener);
      return () => {
        silence();
        listeners.delete(listener);
      };
    },
    announce: (transaction) => notifications.notify(transaction, channelOfAutomations, [sender]),
    committed() {
      for (const listener of listeners) listener();
    },
  };
}
