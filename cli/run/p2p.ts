/** `svc p2p serve`: takes letters at an address and hands them to the running node; ends with it. */
import { module as serving } from '#p2p-server'
import { addressOf } from '../../daemon/home/config.ts'
import { faultPoint } from '../../daemon/platform/faults.ts'
import { a2aAddress } from '../../protocol/control/a2a.ts'
import { systemCode, systemFault } from '../../protocol/encoding/errors.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { streamEvents } from '../client/events.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, notice, printReply, sayOnTerminal, UsageRefused } from '../io.ts'
import { Session } from './session.ts'

const LISTEN_DEFAULT = '127.0.0.1:4001'
const HELP = 'svc help p2p serve'

export async function servePeers(io: Io, input: Input): Promise<number> {
  if (serving === undefined)
    throw new CommandFailed('this build has no direct-connection support', 'svc version')
  const [host, port] = listenAddress(input)
  const session = new Session(io, input)
  const { target } = await connected(io, session)
  const quiet = Object.create(io, { err: { value: () => {} } }) as Io
  const { LetterRefused, DirectServer } = serving
  const server = new DirectServer(async (letter, signal) => {
    const control = await session.connect(quiet)
    faultPoint('serve.direct.before-take')
    const { confirmation, refused } = await control.call('p2pTake', letter, {}, { signal })
    faultPoint('serve.direct.before-answer')
    if (confirmation === undefined) throw new LetterRefused(refused ?? 'not_now')
    return confirmation
  }, systemTimers)
  const address = await server.listen(host, port).catch(error => cannotListen(error, `${host}:${port}`))
  try {
    printReply(io, { state: 'listening', address })
    sayOnTerminal(io, 'letters are taken until Ctrl-C or the end of the node')
    return await untilEnd(io, target)
  } finally {
    await server.close()
  }
}

/** The node of this session, which has to run, and whose hub has to be one that lists addresses. */
async function connected(io: Io, session: Session) {
  const control = await session.connect(io)
  const { hub } = await control.call('status')
  if (hub?.sealed === true)
    throw new CommandFailed(
      'the hub of this node seals mail, so nobody sends to an address; hubs of wire 1 list addresses',
      'svc status',
    )
  return control
}

/** Until a signal, or until the node ends. */
async function untilEnd(io: Io, target: Parameters<typeof streamEvents>[1]): Promise<number> {
  const stopped = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort())
  await streamEvents(io, target, { signal: stopped.signal }, () => undefined)
  if (!stopped.signal.aborted) notice(io, 'the node has ended, so letters are taken here no more')
  return 0
}

function listenAddress(input: Input): [host: string, port: number] {
  const given = input.flags.get('--listen')?.[0] ?? LISTEN_DEFAULT
  const [host, port] = addressOf(given)
  if (!a2aAddress.safeParse(given).success || Number(port) > 65_535)
    throw new UsageRefused('expected a host and a port for --listen, such as 127.0.0.1:4001', HELP)
  return [host.replace(/^\[(.*)\]$/, '$1'), Number(port)]
}

function cannotListen(error: unknown, address: string): never {
  const why = systemFault(systemCode(error) ?? '') ?? String(error)
  throw new CommandFailed(`${address} cannot be used: ${why}`, HELP, 1, error)
}
