/**
 * What systemd is told of a hub: that it serves, that it still works, that it stops. The runtime has no datagram sockets
 * of the Unix kind, so `systemd-notify` carries each word (the unit allows it with NotifyAccess=all).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'

const PROGRAM = 'systemd-notify'
const MICROSECONDS = 1000
/** So often within the time after which systemd would start the hub anew. */
const SIGNS = 3

export type ServiceManager = {
  ready(status: string): Promise<void>
  stopping(): Promise<void>
}

export type ServiceManagerOptions = {
  env: Record<string, string | undefined>
  timers: Timers
  /** Settles when the hub has done some work; one that hangs gives no sign of life. */
  work: () => Promise<unknown>
  /** The manager could not be told. */
  onFault: (why: string) => void
}

/** The manager that started this process; silent where none did. */
export function serviceManager({ env, timers, work, onFault }: ServiceManagerOptions): ServiceManager {
  const isManaged = env['NOTIFY_SOCKET'] !== undefined
  let watching: Timer | undefined
  let isWorking = false

  const tell = async (...words: string[]): Promise<void> => {
    if (!isManaged) return
    const child = spawn(PROGRAM, words, { stdio: 'ignore' })
    try {
      const [code] = (await once(child, 'exit')) as [number | null]
      if (code !== 0) onFault(`${PROGRAM} ended with ${code}`)
    } catch (error) {
      onFault(`${PROGRAM}: ${wordsOf(error)}`)
    }
  }
  const giveSign = async (): Promise<void> => {
    if (isWorking) return
    isWorking = true
    await work()
    isWorking = false
    await tell('WATCHDOG=1')
  }
  return {
    async ready(status) {
      await tell('READY=1', `STATUS=${status}`)
      const everyMs = Number(env['WATCHDOG_USEC']) / MICROSECONDS / SIGNS
      if (!isManaged || !(everyMs > 0)) return
      watching = timers.every(everyMs, () => void giveSign())
      watching.unref()
    },
    async stopping() {
      timers.clear(watching)
      await tell('STOPPING=1')
    },
  }
}
