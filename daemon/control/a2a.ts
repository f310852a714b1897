/** Operations on the A2A interface, which the node opens and closes behind this port. */
import { present } from '../../protocol/encoding/present.ts'
import { A2A_HOST, A2A_PORT_FIRST } from '../home/a2a-config.ts'
import type { Settings } from '../home/settings.ts'
import type { A2aOperations } from './handlers.ts'

export type A2aPort = {
  /** Where it listens and how it is called; undefined while it does not run. */
  readonly bound: string | undefined
  readonly url: string | undefined
  /** Why it does not run as it was set. */
  readonly warning: string | undefined
  /** Opens, moves or closes it as the settings say now; throws where it cannot listen, and where it must not move. */
  apply(mayMove?: boolean): Promise<void>
  /** With `renew` a new one, which ends what the one before opened. */
  token(renew: boolean): { token: string; file: string; dropped_pushes?: number }
}

export function a2aOperations(settings: Settings, a2a: A2aPort): A2aOperations {
  const view = () => {
    const { enabled = false, addr, hosts, push_hosts } = settings.current.a2a ?? {}
    const { url, warning } = a2a
    const card_url = url && `${url}/.well-known/agent-card.json`
    return { on: enabled, ...present({ url, card_url, addr, hosts, push_hosts, warning }) }
  }
  return {
    async a2a() {
      return view()
    },
    async a2aSet({ on, ...given }) {
      const before = settings.current.a2a
      const held = before ?? { enabled: false, addr: `${A2A_HOST}:${A2A_PORT_FIRST}` }
      settings.change({ a2a: { ...held, ...present(given), enabled: on } })
      // whoever never chose an address keeps the one that is found first
      const isFirst = before === undefined && given.addr === undefined
      try {
        await a2a.apply(isFirst)
      } catch (error) {
        // what it cannot do it is not set to
        settings.change({ a2a: before })
        await a2a.apply().catch(() => undefined)
        throw error
      }
      const { bound } = a2a
      if (isFirst && bound !== undefined)
        settings.change({ a2a: { ...held, ...present(given), enabled: on, addr: bound } })
      return view()
    },
    async a2aToken({ renew = false }) {
      return a2a.token(renew)
    },
  }
}
