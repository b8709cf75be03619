import { networkInterfaces } from 'node:os';
import { type Address, block, canonicalAddress, liesIn, readAddress } from './address.ts';

/** An address and port on which the gateway listens. `0.0.0.0` and `::` mean every address of this machine. */
export interface Listener {
  readonly address: string;
  readonly port: number;
}

/** True where a connection to one of these addresses with this port would reach a listener. They are canonical forms of one destination. */
export function reachesListener(addresses: readonly Address[], port: number, listeners: readonly Listener[]): boolean {
  return listeners.some((listener) => listener.port === port && addresses.some((address) => reaches(address, listener)));
}

function reaches(address: Address, listener: Listener): boolean {
  const bound = readAddress(withoutZone(listener.address));
  // Linux connects 0.0.0.0 and :: to the machine itself.
  if (isUnspecified(address)) return true;
  // A listener that is configured by name may be at any address of this machine.
  if (bound === undefined || isUnspecified(canonicalAddress(bound))) return isLocal(address);
  return address.toString() === canonicalAddress(bound).toString();
}

const loopback = [block('127.0.0.0/8'), block('::1/128')];
const unspecified = [block('0.0.0.0/32'), block('::/128')];

function isLocal(address: Address): boolean {
  if (loopback.some((candidate) => liesIn(address, candidate))) return true;
  return Object.values(networkInterfaces()).some((assigned) =>
    assigned?.some((entry) => {
      const own = readAddress(withoutZone(entry.address));
      return own !== undefined && canonicalAddress(own).toString() === address.toString();
    }),
  );
}

function isUnspecified(address: Address): boolean {
  return unspecified.some((candidate) => liesIn(address, candidate));
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? '';
}
