/** What an attack is: what the operator's side prepares, and what the attacking process is ordered to do. */
import type { HubProcess } from '../lib/hub-load.ts'

/** The address that a proxy on this machine would name for the attacker. */
export const ATTACKER = '203.0.113.7'

/** What the attacking process is given; requests are whole, in base64. */
export type Orders = {
  url: string
  /** Address of the loopback network from which sockets are opened. */
  from: string
  sockets: number
  /** Written behind each request: a part so many times, then an end, all in base64. */
  body?: { part: string; times: number; end: string }
  /** Written to each socket, one after the other and from the start again, or once where `once` is set. */
  requests: string[]
  once: boolean
  /** Answers are read, or left lying. */
  reads: boolean
  seconds: number
}

export type Attack = {
  name: string
  what: string
  /** How long the attack takes to reach its full force. */
  settleMs?: number
  /** Flags with which the hub serves, beside its own. */
  flags?: readonly string[]
  /** Fills the data directory before the hub starts. */
  fill?: (directory: string) => Promise<void>
  orders(hub: HubProcess, seconds: number): Promise<Orders>
}

export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
export const base = (hub: HubProcess, seconds: number): Orders => ({
  url: hub.url,
  from: '127.0.0.1',
  sockets: 64,
  requests: [],
  once: false,
  reads: true,
  seconds,
})
