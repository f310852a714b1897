/** `svc id`: identities of this home, their keys and the next key's recovery phrase. */

import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  checkIdentityName,
  chooseIdentity,
  currentIdentity,
  daemonsOf,
  HomeError,
  identityDirectory,
  identityNames,
  purgeIdentity,
  selectIdentity,
} from '../../daemon/home/home.ts'
import { openIdentity, peekIdentity, peekLog } from '../../daemon/identity/identity.ts'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { connect } from '../client/control.ts'
import type { Run } from '../command.ts'
import { CommandFailed, hint, type Io, notice, printReply, requireOutput, UsageRefused } from '../io.ts'
import { start } from './start.ts'
import { askOnTerminal, readPhrase } from './values.ts'

export const ls: Run = async io => {
  const running = daemonsOf(io.env)
  const current = currentIdentity(io.env)
  const identities = identityNames(io.env).map(name => {
    const dir = identityDirectory(io.env, name)
    const daemon = running.find(entry => entry.data_dir === dir)
    return {
      name,
      aid: peekIdentity(dir)?.aid ?? null,
      current: name === current,
      running: daemon !== undefined,
      control_addr: daemon?.control_addr ?? null,
      data_dir: dir,
    }
  })
  printReply(io, { identities, current })
  return 0
}

/** A name that is none, or may not be given or taken away, is a slip of the words. */
function nameOf(word: string, use: 'create' | 'remove'): string {
  try {
    return checkIdentityName(word, use)
  } catch (error) {
    if (error instanceof HomeError)
      throw new UsageRefused(error.message, `svc help id ${use === 'create' ? 'new' : 'rm'}`)
    throw error
  }
}

export const create: Run = async (io, input) => {
  const name = nameOf(input.id as string, 'create')
  if (existsSync(identityDirectory(io.env, name))) {
    throw new CommandFailed(`there is an identity "${name}" already`, 'svc up')
  }
  return start(io, input)
}

export const use: Run = async (io, input) => {
  const name = input.positionals[0] as string
  chooseIdentity(io.env, name)
  printReply(io, { current: name, data_dir: identityDirectory(io.env, name) })
  return 0
}

export const rm: Run = async (io, input) => {
  const name = nameOf(input.positionals[0] as string, 'remove')
  const dir = identityDirectory(io.env, name)
  if (!existsSync(dir)) throw new CommandFailed(`there is no identity "${name}"`, 'svc id ls')
  if (daemonsOf(io.env).some(entry => entry.data_dir === dir)) {
    throw new CommandFailed(`the node of "${name}" is running`, `svc stop ${name}`)
  }
  const purge = input.flags.has('--purge')
  if (purge) purgeIdentity(io.env, name)
  printReply(io, { name, data_dir: dir, deleted: purge })
  if (!purge) hint(io, `to delete it for good, its key included:\nsvc id rm ${name} --purge`)
  return 0
}

/** Read from the disk, so that it needs no node. */
export const kel: Run = async (io, input) => {
  const { dir } = selectIdentity(io.env, input.id)
  const log = peekLog(dir)
  if (log === undefined) throw new CommandFailed(`there is no identity in ${dir}`, 'svc up')
  printReply(io, { aid: log.aid, kel_seq: log.seq, kel: toBase64(encodeKel(log.events)) })
  return 0
}

export const rotate: Run = async (io, input) => {
  const phrase = input.flags.has('--recovery-phrase-stdin') ? { recovery_phrase: await readPhrase(io) } : {}
  printReply(io, await connect(io, input).call('idRotate', phrase))
  return 0
}

export const deactivate: Run = async (io, input) => {
  if (!input.flags.has('--yes')) {
    throw new UsageRefused(
      'this ends the identity for good: nobody can sign for it any more',
      'svc id deactivate --yes',
    )
  }
  const phrase = input.flags.has('--recovery-phrase-stdin') ? { recovery_phrase: await readPhrase(io) } : {}
  const credits = input.flags.has('--forfeit-credits') ? { forfeit_credits: true } : {}
  printReply(io, await connect(io, input).call('idDeactivate', { ...phrase, ...credits }))
  return 0
}

function open(io: Io, id: string | undefined) {
  const { dir } = selectIdentity(io.env, id)
  return openIdentity(dir, { now: io.now, random: length => new Uint8Array(randomBytes(length)) })
}

/** What is removed is asked for on a terminal, and needs `--yes` elsewhere. */
async function requireYes(io: Io, aid: string): Promise<void> {
  const without =
    'without this key and without its phrase the identity can never rotate, move or end; nothing was removed'
  const next = 'svc id next export --remove --yes'
  if (!io.stdin.isTTY) throw new UsageRefused(without, next)
  const said = await askOnTerminal(
    io,
    `This deletes the next key of ${aid} here. Only its phrase, printed now, brings it back. Type yes to go on: `,
  )
  if (said !== 'yes') throw new UsageRefused(without, next)
}

export const nextExport: Run = async (io, input) => {
  const identity = open(io, input.id)
  const removed = input.flags.has('--remove')
  if (removed && !input.flags.has('--yes')) await requireYes(io, identity.aid)
  const phrase = identity.exportNext()
  notice(
    io,
    'write this phrase down and keep it away from this machine; with it the next key can be made again',
  )
  printReply(io, { aid: identity.aid, recovery_phrase: phrase, removed })
  if (removed) {
    await requireOutput(io, 'reader')
    identity.removeNext(phrase)
  }
  return 0
}

export const nextImport: Run = async (io, input) => {
  const identity = open(io, input.id)
  identity.importNext(await readPhrase(io))
  printReply(io, { aid: identity.aid, next_key: 'present' })
  return 0
}
