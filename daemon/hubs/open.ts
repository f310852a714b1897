/** Chooses the wire of a hub: by its row in the store, or by asking a hub that is not known yet. */
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import type { HubRow } from '../store/hubs.ts'
import {
  type HubClient,
  type HubInputs,
  HubStopped,
  OtherWire,
  UnsealedHub,
  type Wire,
  WireMisnamed,
} from './hub.ts'
import { wire1 } from './wire1/wire.ts'
import { wire3 } from './wire3/wire.ts'

/** Every wire that this node speaks, the newest first. */
const wires: readonly Wire[] = [wire3, wire1]

/** The numbers of them. */
export const spoken: readonly number[] = wires.map(wire => wire.number)

/** Whether the operator of a hub lets agents in by codes, where its wire was named: no wire of sealed mail has them. */
export const hasCodes = (wire: number | undefined): boolean =>
  wires.some(({ number, sealed }) => number === wire && !sealed)

/** The hub of a row. */
export function openHub(
  row: Pick<HubRow, 'url' | 'aid' | 'wire' | 'log' | 'bits'>,
  inputs: HubInputs,
): HubClient {
  const wire = wires.find(one => one.number === row.wire)
  if (wire === undefined)
    throw new HubStopped(
      `the hub ${row.url} speaks wire version ${row.wire}, which this node does not; update this node`,
    )
  const log = verifyKel(decodeKel(row.log))
  return wire.open(row.url, { aid: row.aid, wire: row.wire, log, bitsMax: row.bits }, inputs)
}

/**
 * The hub at an address, asked who it is under each wire that may be meant until one fits. `asked`: the number of the one that
 * is meant; a wire that seals nothing is spoken only where it is.
 */
export async function meetHub(url: string, inputs: HubInputs, asked?: number): Promise<HubClient> {
  const meant = wires.filter(wire => (asked === undefined ? wire.sealed : wire.number === asked))
  let refusal: unknown
  for (const wire of meant) {
    try {
      return wire.open(url, await wire.meet(url, inputs), inputs)
    } catch (error) {
      if (!(error instanceof OtherWire)) throw error
      refusal ??= error
    }
  }
  throw (
    (refusal instanceof OtherWire && (saidUnsealed(refusal, asked) ?? saidOther(refusal, asked))) || refusal
  )
}

/** Both speak the wire of the hub, and another one was named. */
function saidOther({ spoken }: OtherWire, asked: number | undefined): WireMisnamed | undefined {
  if (asked === undefined || !wires.some(({ number }) => number === spoken)) return undefined
  return new WireMisnamed(
    `the hub speaks wire ${spoken} at this address, not ${asked}; name that wire, or another address`,
  )
}

/** A hub that speaks only what seals nothing, where nobody has named that wire. */
function saidUnsealed({ spoken }: OtherWire, asked: number | undefined): UnsealedHub | undefined {
  const wire = wires.find(({ number, sealed }) => number === spoken && !sealed)
  if (wire === undefined || asked !== undefined) return undefined
  return new UnsealedHub(
    `this hub speaks wire ${wire.number}, which seals nothing: its operator can read every message`,
  )
}

/** How a node comes to its hubs: by a row of its store, or by an address. */
export type HubDoors = { open: typeof openHub; meet: typeof meetHub }
export const hubDoors: HubDoors = { open: openHub, meet: meetHub }
