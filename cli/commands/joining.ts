/** What joining a hub says, by `hub-register` and by `up --hub`. */
import { call } from '../../protocol/contract/client.ts'
import type { ReplyOf } from '../../protocol/contract/route.ts'
import type { Operations } from '../../protocol/control/operations.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { present } from '../../protocol/encoding/present.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import { connect } from '../client/control.ts'
import { hubSend } from '../client/hub.ts'
import type { Input } from '../command.ts'
import { CommandFailed, hint, type Io, notice, sayOnTerminal } from '../io.ts'
import { askOnTerminal, flags } from './values.ts'

const ASK_TIMEOUT_MS = 10_000

/** The wire whose hubs read the mail of their agents. */
const OPEN_WIRE = 1

/** What everybody can read in a hub's chain of credits. */
export const PUBLISHED =
  'this hub publishes to whom it grants credits and who redeems some, to the hour, and each day what it owes in all; payments it shows to nobody'

export function sayJoined(io: Io, reply: ReplyOf<Operations['hubRegister']>): void {
  if (!reply.sealed) notice(io, 'messages through this hub are not sealed: its operator can read them')
  sayOnTerminal(io, PUBLISHED)
  hint(io, 'svc find\nsvc delegate <aid> "<task>"')
}

/** By which wire a hub is joined, and with which code of its operator. */
export async function wayInto(io: Io, input: Input, url: string): Promise<{ wire?: number; token?: string }> {
  const [wire, token] = ['--wire', '--token'].map(name => flags(input, name)[0])
  if (token !== undefined && wire !== '1')
    await refuseToken(io, url, async () => (await connect(io, input).call('status')).aid)
  return present({ wire: wire === undefined ? undefined : Number(wire), token })
}

/** A wire-3 hub knows no admission codes; nothing is sent to it that it would have to refuse. */
async function refuseToken(io: Io, url: string, ownAid: () => Promise<string>): Promise<void> {
  const headers = { 'X-Svc-Wire': '3' }
  const identity = await call(wire3Routes.hubIdentity, hubSend(io, ASK_TIMEOUT_MS), {
    baseUrl: url,
    headers,
  }).catch(() => undefined)
  if (identity?.wire === 3) {
    throw new CommandFailed(
      'this hub takes no admission codes; its operator admits you by your AID',
      `ask the operator to run: svc-hub admit ${await ownAid()}`,
    )
  }
}

/** Registers; at a hub that seals nothing, where the person at the terminal wants that. */
export async function orUnsealed<T>(io: Io, join: (more: { wire?: number }) => Promise<T>): Promise<T> {
  try {
    return await join({})
  } catch (error) {
    const isUnsealed = error instanceof OperationRefused && error.code === 'hub_unsealed'
    if (!isUnsealed || io.stdin.isTTY !== true || !io.onTerminal) throw error
    const answer = await askOnTerminal(io, `${error.message}. Register there all the same? [y/N] `)
    if (!/^y(es)?$/i.test(answer)) throw error
    return await join({ wire: OPEN_WIRE })
  }
}
