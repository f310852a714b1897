/** Hub and policies: hub-register, hub-leave, accept, profile, visibility. */

import { call } from '../../protocol/contract/client.ts'
import { GUEST_MESSAGES_MAX } from '../../protocol/control/bounds.ts'
import { present } from '../../protocol/encoding/present.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import { connect } from '../client/control.ts'
import { hubSend } from '../client/hub.ts'
import type { Run } from '../command.ts'
import { CommandFailed, type Io, notice, printReply, UsageRefused } from '../io.ts'
import { orUnsealed, sayJoined } from './joining.ts'
import { boolean, flag, flags, integer, parseSwitch, readPhrase, textOrFile } from './values.ts'

const ASK_TIMEOUT_MS = 10_000

export const register: Run = async (io, input) => {
  const url = input.positionals[0] as string
  const control = connect(io, input)
  const wire = flags(input, '--wire')[0]
  const token = flags(input, '--token')[0]
  if (token !== undefined && wire !== '1') await refuseToken(io, url, (await control.call('status')).aid)
  const caps = flags(input, '--caps')[0]
  const phrase = input.flags.has('--recovery-phrase-stdin') ? await readPhrase(io) : undefined
  const guests = integer(input, '--guest-messages', 'guest_messages')
  if ((guests.guest_messages ?? 0) > GUEST_MESSAGES_MAX)
    throw new UsageRefused(`expected at most ${GUEST_MESSAGES_MAX} for --guest-messages`)
  const given = {
    url,
    ...flag(input, '--name', 'name'),
    ...present({ caps: caps?.split(',').filter(tag => tag !== '') }),
    ...guests,
    ...boolean(input, '--accept-delegations', 'accept_delegations'),
    ...present({ wire: wire === undefined ? undefined : Number(wire), token }),
    ...present({ recovery_phrase: phrase }),
  }
  const reply = await orUnsealed(io, more => control.call('hubRegister', { ...given, ...more }))
  printReply(io, reply)
  sayJoined(io, reply)
  return 0
}

/** A wire-3 hub knows no admission codes; nothing is sent to it that it would have to refuse. */
async function refuseToken(io: Io, url: string, aid: string): Promise<void> {
  const headers = { 'X-Svc-Wire': '3' }
  const identity = await call(wire3Routes.hubIdentity, hubSend(io, ASK_TIMEOUT_MS), {
    baseUrl: url,
    headers,
  }).catch(() => undefined)
  if (identity?.wire === 3) {
    throw new CommandFailed(
      'this hub takes no admission codes; its operator admits you by your AID',
      `ask the operator to run: svc-hub admit ${aid}`,
    )
  }
}

export const leave: Run = async (io, input) => {
  const url = input.positionals[0]
  printReply(io, await connect(io, input).call('hubLeave', present({ url })))
  return 0
}

export const accept: Run = async (io, input) => {
  const on = parseSwitch(input.positionals[0] as string, '"accept"', 'on or off')
  printReply(io, await connect(io, input).call('accept', { on }))
  return 0
}

export const profileSet: Run = async (io, input) => {
  const text = (name: string) => {
    const value = flags(input, name)[0]
    return value === undefined ? undefined : textOrFile(io, value, name)
  }
  const [summary, readme, pricing] = [text('--summary'), text('--readme'), text('--pricing')]
  const caps = flags(input, '--caps')[0]
    ?.split(',')
    .filter(tag => tag !== '')
  if ([summary, readme, pricing, caps].every(one => one === undefined)) {
    throw new UsageRefused('expected --summary, --readme, --pricing or --caps', 'svc help "profile set"')
  }
  const reply = await connect(io, input).call('profileSet', {
    ...present({ summary, readme, pricing, caps }),
  })
  printReply(io, reply)
  if (pricing !== undefined) notice(io, 'the pricing text is kept here; hubs of wire 3 publish no prices')
  return 0
}

export const visibility: Run = async (io, input) => {
  const wanted = input.positionals[0] as 'hub-local'
  printReply(io, await connect(io, input).call('visibility', { visibility: wanted }))
  return 0
}
