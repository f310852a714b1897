/** A node with several hubs, each in this process, for tests of how it stands at them. */
import { TestTimers } from '../../protocol/testing/timers.ts'
import { presented } from '../hubs/hub.ts'
import type { HubDoors } from '../hubs/open.ts'
import { Publication } from '../hubs/publication.ts'
import { writeHome } from '../store/hubs.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { Post, ScriptedHub } from '../testing/scripted-hub.ts'
import { type OpenedMembership, openMembership } from './open.ts'

export class HubsWorld extends TestWorld {
  protected override readonly timers: TestTimers = new TestTimers()
  /** By their addresses. */
  readonly hubs = new Map<string, ScriptedHub>()
  #node: TestNode | undefined
  #opened: OpenedMembership | undefined

  /** A node whose home is the hub of this world. */
  async member(): Promise<TestNode> {
    const node = await this.node('nora')
    this.hubs.set(node.hub.url, node.hub)
    writeHome(node.ctx.store, presented(node.hub), false, this.clock.ms)
    this.#node = node
    const { identity, now, timers, random, attachments } = node.ctx
    const inputs = {
      ...{ identity, now, timers, random, connections: undefined as never },
      ...{ spoolFolder: attachments.folder, publication: new Publication() },
    }
    this.#opened = openMembership(node.ctx, inputs, this.#doors)
    return node
  }

  get opened(): OpenedMembership {
    if (this.#opened === undefined) throw new Error('nobody is a member')
    return this.#opened
  }

  /** Lets pauses of the node pass. */
  async wait(ms: number): Promise<void> {
    await this.timers.pass(ms)
  }

  /** Another hub, at an address of its own. */
  hub(url: string, seed = this.hubs.size): ScriptedHub {
    const post = new Post({ now: () => this.clock.ms, seed: new Uint8Array(32).fill(100 + seed), url })
    const hub = new ScriptedHub(post, this.#node?.aid ?? '', () => this.clock.ms)
    this.hubs.set(url, hub)
    return hub
  }

  get #doors(): HubDoors {
    const at = (url: string): ScriptedHub => {
      const hub = this.hubs.get(url)
      if (hub === undefined) throw new Error(`no hub answers at ${url}`)
      return hub
    }
    return { open: ({ url }) => at(url), meet: async url => at(url) }
  }
}
