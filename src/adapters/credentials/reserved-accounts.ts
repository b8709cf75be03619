/** By whose account it is. */
const accounts = {
  admin: 'NSO',
  daemon: 'system',
  nobody: 'system',
  oper: 'NSO',
  private: 'NSO',
  public: 'NSO',
  root: 'system',
  system: 'NSO',
} as const satisfies Readonly<Record<string, 'NSO' | 'system'>>;

/** Accounts of NSO's own, and of the system that it runs on. `deploy/nso/verify-assertion` refuses these too, unless its settings allow them. */
export const reservedAccounts: ReadonlySet<string> = new Set(Object.keys(accounts));

/** Of a person or group at an orchestrator: NSO's protocol for external authentication takes no other characters. */
export function isOrchestratorName(name: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9._@+-]{0,127}$/u.test(name);
}
