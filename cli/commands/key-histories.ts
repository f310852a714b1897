/** Key histories that verifying goes by: given on the command line, or asked of a hub. */

import { call } from '../../protocol/contract/client.ts'
import { fromBase64url, Malformed } from '../../protocol/encoding/bytes.ts'
import { decodeKel, KelInvalid, type VerifiedKel, verifyKel } from '../../protocol/identity/kel.ts'
import { gatherHistories, sayFork } from '../../protocol/proof/shown.ts'
import { sayNoHub } from '../../protocol/wire3/no-hub.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import { hubSend } from '../client/hub.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, messageOf, UsageRefused } from '../io.ts'
import { bytesOf, flags } from './values.ts'

const FETCH_TIMEOUT_MS = 15_000

/** The key history of a chain's owner, where one is given or a hub is named; `aid`: the owner, where the file says it. */
export async function chainHistory(
  io: Io,
  input: Input,
  aid: string | undefined,
): Promise<VerifiedKel | undefined> {
  const given = givenLog(input, aid, 'the chain')
  const url = flags(input, '--hub')[0]
  if (given !== undefined && url !== undefined)
    throw new UsageRefused('--kel and --hub were both given; give one of them', 'svc help verify')
  if (given !== undefined || url === undefined) return given
  if (aid === undefined)
    throw new UsageRefused(
      'a chain without the first line of an export needs --kel BASE64',
      'svc key-history',
    )
  return (await fetchLogs(io, url, { aid, given: undefined })).provider
}

/** The key history of a receipt's provider, and of the hub where one is named. */
export async function providerLog(
  io: Io,
  input: Input,
  aid: string,
): Promise<{ provider: VerifiedKel; hub?: VerifiedKel }> {
  const url = flags(input, '--hub')[0]
  const isAttested = input.flags.has('--attestation')
  const given = givenLog(input, aid, 'the receipt')
  if (given !== undefined && url !== undefined && !isAttested)
    throw new UsageRefused('--kel and --hub were both given; give one of them', 'svc help verify')
  if (url !== undefined) return fetchLogs(io, url, { aid, given })
  if (given === undefined)
    throw new UsageRefused('--receipt needs the key history: --kel BASE64 or --hub URL', 'svc help verify')
  return { provider: given }
}

/** The longest of the key histories that were given; `by`: what names whose they must be. */
function givenLog(input: Input, aid: string | undefined, by: string): VerifiedKel | undefined {
  const given = flags(input, '--kel').map(kel => readLog(bytesOf(kel, '--kel'), '--kel', aid, by))
  const [first] = given
  const other = given.find(log => log.aid !== first?.aid)
  if (other !== undefined)
    throw new UsageRefused(`--kel names two agents, ${first?.aid} and ${other.aid}`, 'svc help verify')
  return longest(given)
}

/** The longest of key histories of one agent; refuses those that contradict each other. */
export function longest(given: readonly VerifiedKel[]): VerifiedKel | undefined {
  const { logs, forks } = gatherHistories(given)
  for (const [aid, seq] of forks) throw new CommandFailed(`not checked: ${aid}. ${sayFork(seq)}`)
  return [...logs.values()][0]
}

/** The hub's own log, and that of the provider unless it was given. */
async function fetchLogs(
  io: Io,
  baseUrl: string,
  { aid, given: provider }: { aid: string; given: VerifiedKel | undefined },
) {
  if (!/^https?:\/\//i.test(baseUrl) || !URL.canParse(baseUrl))
    throw new UsageRefused(
      `expected the address of a hub for --hub, such as https://hub.example, got "${baseUrl}"`,
      'svc help verify',
    )
  const given = { baseUrl, headers: { 'X-Svc-Wire': '3' } }
  const send = hubSend(io, FETCH_TIMEOUT_MS)
  try {
    const identity = await call(wire3Routes.hubIdentity, send, given)
    const hub = readLog(fromBase64url(identity.kel), 'the history of the hub itself', identity.aid)
    if (provider !== undefined) return { provider, hub }
    const answer = await call(wire3Routes.agentKel, send, { ...given, params: { aid } })
    return { provider: readLog(fromBase64url(answer.kel), 'the history of the hub', aid), hub }
  } catch (error) {
    if (error instanceof CommandFailed) throw error
    throw new CommandFailed(
      sayNoHub(error, baseUrl) ?? `the hub gave no key history: ${messageOf(error)}`,
      'svc verify --receipt … --kel BASE64',
    )
  }
}

/** `aid`: whose it must be, by what; undefined where nothing says it. */
export function readLog(
  bytes: Uint8Array,
  name: string,
  aid: string | undefined,
  by = 'the receipt',
): VerifiedKel {
  try {
    const log = verifyKel(decodeKel(bytes))
    if (aid !== undefined && log.aid !== aid)
      throw new CommandFailed(`${name} belongs to ${log.aid}, ${by} names ${aid}`)
    return log
  } catch (error) {
    if (error instanceof Malformed)
      throw new CommandFailed(
        `${name} is cut off or no key history (${error.message})`,
        'give all of "kel" that this prints:\nsvc key-history <agent>',
      )
    if (error instanceof KelInvalid) throw new CommandFailed(`${name} does not verify: ${error.message}`)
    throw error
  }
}
