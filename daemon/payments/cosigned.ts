/**
 * Checkpoints of a hub's supply chain that witnesses of transparency logs cosigned, of those that the user of this node
 * named. A tree that one of them signed and that the chain does not begin with is evidence of two histories.
 */
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { parseCheckpoint, supplyOrigin } from '../../protocol/proof/checkpoint.ts'
import {
  type Cosigner,
  cosignatureIn,
  cosignedAtMs,
  parseVerifierKey,
} from '../../protocol/proof/cosignature.ts'
import { type CompactRange, consistencyHolds } from '../../protocol/proof/merkle.ts'
import { SupplyFault } from '../../protocol/proof/supply-reader.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'

/** A tree that was cosigned, and by whom; the text is what they signed. */
export type Cosigned = { size: number; root: Uint8Array; by: { name: string; atMs: number }[] }

export const cosignersOf = ({ settings }: Pick<Context, 'settings'>): Cosigner[] =>
  (settings.current.cosigners ?? []).map(parseVerifierKey)

/** Asks before the chain is read; undefined where nobody was named, or none of them signed what the hub shows. */
export async function askCosigned(
  ctx: Pick<Context, 'settings'>,
  hub: Pick<HubClient, 'identity' | 'credits'>,
  signal: AbortSignal,
): Promise<Cosigned | undefined> {
  const cosigners = cosignersOf(ctx)
  const note = cosigners.length === 0 ? undefined : await hub.credits.checkpoint(signal)
  if (note === undefined) return undefined
  const { checkpoint, text } = parsed(note, supplyOrigin(hub.identity.aid))
  const by = cosigners.flatMap(cosigner => {
    const line = cosignatureIn(note, text, cosigner)
    return line === undefined ? [] : [{ name: cosigner.name, atMs: cosignedAtMs(line) }]
  })
  return by.length === 0 ? undefined : { ...checkpoint, by }
}

function parsed(note: string, origin: string): ReturnType<typeof parseCheckpoint> {
  try {
    return parseCheckpoint(note, origin)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw new SupplyFault(`the checkpoint that the hub shows cannot be read (${error.message})`, 0)
  }
}

/** The chain that was read begins with the tree that was cosigned. */
export async function requireCosigned(
  tree: CompactRange,
  cosigned: Cosigned | undefined,
  hub: Pick<HubClient, 'credits'>,
  signal: AbortSignal,
): Promise<void> {
  if (cosigned === undefined) return
  const { size, root, by } = cosigned
  const names = by.map(({ name }) => name).join(', ')
  if (size > tree.size)
    throw new SupplyFault(`${names} cosigned a tree of ${size} records, and it is missing`, size - 1)
  const own = { size: tree.size, root: tree.root() }
  const holds =
    size === tree.size
      ? equal(root, own.root)
      : consistencyHolds({ size, root }, own, await hub.credits.consistency(size, tree.size, signal))
  if (!holds) throw new SupplyFault(`${names} cosigned another tree of ${size} records`, size - 1)
}
