/** The hub that is home: taken up, looked at again, and left. */
import type { CurrentHub } from '../hubs/current.ts'
import { type HubClient, presented } from '../hubs/hub.ts'
import { refuse } from '../refusal.ts'
import { keepHubLog, leaveHub, writeHome } from '../store/hubs.ts'
import type { Store } from '../store/open.ts'
import { markNewMailbox } from './key-state.ts'
import type { KnownHubs } from './known-hubs.ts'

/** `current`: it was the home. */
export type Left = { hub: HubClient | undefined; url: string; current: boolean }

export class HomeHub {
  readonly #hub: CurrentHub
  readonly #known: KnownHubs
  readonly #store: Store
  readonly #wakeMail: () => void
  readonly #now: () => number

  constructor(parts: {
    hub: CurrentHub
    known: KnownHubs
    store: Store
    wakeMail: () => void
    now: () => number
  }) {
    this.#hub = parts.hub
    this.#known = parts.known
    this.#store = parts.store
    this.#wakeMail = parts.wakeMail
    this.#now = parts.now
  }

  /** Makes a hub the home, with the duties that follow, in one transaction; true where it was another one before. */
  take(home: HubClient): boolean {
    const [hub, store] = [this.#hub, this.#store]
    const before = hub.last?.identity
    const { aid, wire } = home.identity
    const moves = before !== undefined && (before.aid !== aid || before.wire !== wire)
    store.transaction(() => {
      writeHome(store, presented(home), moves, this.#now())
      if (moves) markNewMailbox(store)
    }, 'node.join')
    hub.settleAt(home)
    return moves
  }

  /** Leaves a hub, once it agreed; that this identity has an account there stays known. */
  async leave(url: string | undefined): Promise<Left> {
    const hub = this.#hub
    const address = url?.replace(/\/+$/, '') ?? hub.last?.url
    if (address === undefined) return refuse('no_hub', 'this node is registered at no hub')
    const current = hub.last?.url === address
    const left = current ? hub.last : await this.#known.at(address)
    await left?.deregister()
    leaveHub(this.#store, address)
    if (current) {
      hub.leave()
      this.#wakeMail()
    }
    return { hub: left, url: address, current }
  }

  /** Learns a new key of the home hub, and notices when another hub answers in its place. */
  async refresh(): Promise<void> {
    const home = this.#hub.last
    if (home === undefined) return
    const wasStopped = home.stopped !== undefined
    await home.refresh()
    if (wasStopped) this.#talkAgain()
    keepHubLog(this.#store, presented(home))
  }

  /** Looks at once whether a hub of another wire speaks ours again; true where it does. */
  async isBack(): Promise<boolean> {
    const { last } = this.#hub
    if (last?.stopped === undefined) return false
    await last.refresh(true).catch(() => undefined)
    if (last.stopped !== undefined) return false
    this.#talkAgain()
    return true
  }

  /** The hub was found to be one to talk to again. */
  #talkAgain(): void {
    this.#hub.noteContact(undefined)
    this.#wakeMail()
  }
}
