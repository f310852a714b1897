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
import type { Settings } from '../home/settings.ts'
import type { HubClient } from '../hubs/hub.ts'

/** A tree that was cosigned, and by whom. */
export type Cosigned = { size: number; root: Uint8Array; by: { name: string; atMs: number }[] }
/** Trees that witnesses which the user named have cosigned, each the newest of theirs that is shown; and who has none. */
export type Cosignatures = { trees: Cosigned[]; silent: string[] }

export const cosignersOf = (settings: Settings): Cosigner[] =>
  (settings.current.cosigners ?? []).map(parseVerifierKey)

/**
 * Asks before the chain is read: for the newest tree that anybody cosigned, and then for that of each witness which has not
 * signed it and was named here.
 */
export async function askCosigned(
  settings: Settings,
  hub: Pick<HubClient, 'identity' | 'credits'>,
  signal: AbortSignal,
): Promise<Cosignatures> {
  const trees: Cosigned[] = []
  let open = cosignersOf(settings)
  for (const asked of open.length === 0 ? [] : [undefined, ...open]) {
    if (asked !== undefined && !open.includes(asked)) continue
    const note = await hub.credits.checkpoint(signal, asked?.name)
    if (note === undefined) continue
    const { checkpoint, text } = parsed(note, supplyOrigin(hub.identity.aid))
    const lines = open.map(cosigner => ({ cosigner, line: cosignatureIn(note, text, cosigner) }))
    const by = lines.flatMap(({ cosigner, line }) =>
      line === undefined ? [] : [{ name: cosigner.name, atMs: cosignedAtMs(line) }],
    )
    if (by.length > 0) trees.push({ ...checkpoint, by })
    open = lines.flatMap(({ cosigner, line }) => (line === undefined ? [cosigner] : []))
  }
  return { trees, silent: open.map(({ name }) => name) }
}

function parsed(note: string, origin: string): ReturnType<typeof parseCheckpoint> {
  try {
    return parseCheckpoint(note, origin)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw new SupplyFault(`the checkpoint that the hub shows cannot be read (${error.message})`, 0)
  }
}

/** The chain that was read begins with each tree that was cosigned. */
export async function requireCosigned(
  tree: CompactRange,
  trees: readonly Cosigned[],
  hub: Pick<HubClient, 'credits'>,
  signal: AbortSignal,
): Promise<void> {
  for (const cosigned of trees) await requireOne(tree, cosigned, hub, signal)
}

async function requireOne(
  tree: CompactRange,
  { size, root, by }: Cosigned,
  hub: Pick<HubClient, 'credits'>,
  signal: AbortSignal,
): Promise<void> {
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
