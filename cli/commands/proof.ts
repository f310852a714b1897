/** Proof: review, evidence, key histories. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { selectIdentity } from '../../daemon/home/home.ts'
import { systemRandom } from '../../daemon/platform/random.ts'
import { present } from '../../protocol/encoding/present.ts'
import { connect } from '../client/control.ts'
import type { Input, Run } from '../command.ts'
import { CommandFailed, type Io, printReply, UsageRefused } from '../io.ts'
import { flag, flags, integer, parseInteger } from './values.ts'

export const review: Run = async (io, input) => {
  const [id, rating, comment] = input.positionals as [string, string, string?]
  const stars = parseInteger(rating, '<rating>')
  if (stars < 1 || stars > 5) throw new UsageRefused('expected a rating from 1 to 5', 'svc help review')
  const publish = input.flags.has('--publish') || undefined
  const body = { interaction_id: id, rating: stars, ...present({ comment, publish }) }
  printReply(io, await connect(io, input).call('review', body))
  return 0
}

export const evidence: Run = async (io, input) => {
  const node = connect(io, input)
  const reply = await node.call('evidence', {
    ...flag(input, '--type', 'event_type'),
    ...present({ since: await sinceOf(node, input) }),
    ...integer(input, '--limit', 'limit'),
  })
  printReply(io, reply)
  return 0
}

/** A day, or a moment of RFC 3339; a day begins where this machine is. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i

/** The number from which records are shown: given itself, or that of the first record since a date. */
async function sinceOf(node: ReturnType<typeof connect>, input: Input): Promise<number | undefined> {
  const [given] = flags(input, '--since')
  if (given === undefined || /^\d{1,15}$/.test(given)) return integer(input, '--since', 'since').since
  const at = DATE.test(given) ? Date.parse(given.length === 10 ? `${given}T00:00:00` : given) : Number.NaN
  if (Number.isNaN(at))
    throw new UsageRefused(
      `expected a sequence number or a date for --since, such as 2026-11-24 or 2026-11-24T09:30:00Z, got "${given}"`,
      'svc help evidence',
    )
  let [low, high] = [0, (await node.call('evidence', { limit: 1 })).head.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [record] = (await node.call('evidence', { before: middle + 1, limit: 1 })).records
    if (record === undefined || record.timestamp < at) low = middle + 1
    else high = middle
  }
  return low
}

export const keyHistory: Run = async (io, input) => {
  const agent = input.positionals[0]
  printReply(io, await connect(io, input).call('keyHistory', present({ agent })))
  return 0
}

/** Reads the whole chain file, verifies it, and completes the store from it. */
export const evidenceImport: Run = (io, input) =>
  ofStoppedNode('svc evidence import', async () => {
    const dir = ownDirectory(io, input)
    const { importChain } = await import('../../daemon/chain/import.ts')
    const { length, imported, fork } = await importChain(dir, { now: io.now, random: systemRandom })
    printReply(io, {
      length,
      imported,
      state: fork === undefined ? 'ACTIVE' : 'QUARANTINED',
      ...present({ fork_at: fork }),
    })
    return fork === undefined ? 0 : 1
  })

/** Goes on from an older copy of the data directory. */
export const evidenceAccept: Run = (io, input) =>
  ofStoppedNode('svc evidence accept', async () => {
    const dir = ownDirectory(io, input)
    const { acceptCopy } = await import('../../daemon/chain/accept.ts')
    const { aid, length } = acceptCopy(dir, io.env, { now: io.now, random: systemRandom })
    printReply(io, { aid, length, accepted: true })
    return 0
  })

/** Without records there is nothing that a chain could be held against. */
function ownDirectory(io: Io, input: Input): string {
  const { dir } = selectIdentity(io.env, input.id)
  if (!existsSync(join(dir, 'identity.kel')))
    throw new CommandFailed(`there is no identity in ${dir} yet`, 'svc up')
  return dir
}

/** Runs what needs the data directory for itself. */
async function ofStoppedNode(command: string, work: () => Promise<number>): Promise<number> {
  const { ChainRefused } = await import('../../daemon/chain/file.ts')
  const { DirectoryBusy } = await import('../../daemon/home/lock.ts')
  try {
    return await work()
  } catch (error) {
    if (error instanceof DirectoryBusy)
      throw new CommandFailed(error.message, error.isNode ? `svc stop && ${command}` : command)
    if (error instanceof ChainRefused) throw new CommandFailed(error.message, 'svc logs')
    throw error
  }
}
