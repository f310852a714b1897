/** Everything behind the A2A interface, put together once it is first wanted: most nodes never load it. */
import type { Context } from '../context.ts'
import type { CrowdParts } from '../control/crowd.ts'
import type { LocalCall } from '../tasks/local-calls.ts'
import { taskParts } from '../tasks/open.ts'
import { Agents } from './agents.ts'
import { Answers } from './answers.ts'
import { CapabilityCalls } from './capability-calls.ts'
import type { Offer } from './cards.ts'
import { MethodHandlers } from './method-handlers.ts'
import { OwnPrices, type Serving } from './own-prices.ts'
import { PushConfigs } from './pushes.ts'
import { type Operations, Sending } from './sending.ts'
import { A2aServer, type ServerOptions } from './server.ts'
import { Service } from './service.ts'
import type { A2aSettings } from './settings.ts'
import { Settlements } from './settlements.ts'
import { TaskStreams } from './streams.ts'
import { TaskEvents } from './task-events.ts'
import { TaskViews } from './views.ts'

type WorksParts = {
  settings: A2aSettings
  modules: Serving & { list(): readonly Offer[] }
  /** Those of the node. */
  operations: Operations
  /** Whether this build takes payments. */
  isPaidHere: boolean
}

export class Works {
  readonly taskEvents: TaskEvents
  readonly pushes: PushConfigs
  readonly service: Service
  readonly #agents: Agents
  readonly #streams: TaskStreams
  readonly #machine: CrowdParts
  #isFollowing = false

  constructor(ctx: Context, { settings, modules, operations, isPaidHere }: WorksParts) {
    const { identity, hub, contacts, store, threads, events, timers, random, log } = ctx
    const answers = new Answers(threads, ctx.attachments)
    const views = new TaskViews(store, threads, answers)
    const following = { store, threads, answers, events, machine: ctx }
    const taskEvents = new TaskEvents(following, given => operations.end(given), isPaidHere)
    const prices = new OwnPrices({ identity, hub, modules }, isPaidHere)
    const { localCalls } = taskParts(ctx)
    const takeCall = (call: LocalCall) => localCalls.take(call)
    const capabilityCalls = new CapabilityCalls({ store, taskEvents, prices, takeCall, random })
    const sending = new Sending({ store, threads, taskEvents, operations, capabilityCalls, random })
    const methodHandlers = new MethodHandlers({ store, views, taskEvents, operations, timers })
    const settlements = new Settlements({ store, events, timers, taskEvents, capabilityCalls })
    const agents = new Agents({ identity, settings: ctx.settings, contacts, modules })
    const pushing = { store, taskEvents, views, settings, machine: ctx }
    this.taskEvents = taskEvents
    this.pushes = new PushConfigs(pushing, ctx.timings.backoffFirstMs)
    this.service = new Service({ agents, methodHandlers, sending, settlements, pushes: this.pushes }, log)
    this.#agents = agents
    this.#streams = new TaskStreams(store, taskEvents, views)
    this.#machine = ctx
  }

  /** Follows what was begun, also while the interface is closed. */
  follow(): void {
    if (this.#isFollowing) return
    this.#isFollowing = true
    this.taskEvents.start()
    this.pushes.start()
  }

  server(options: ServerOptions): A2aServer {
    const parts = { agents: this.#agents, service: this.service, streams: this.#streams }
    return new A2aServer(parts, this.#machine, options)
  }

  /** Ends calls to addresses that are called no more. */
  dropPushes(): void {
    this.pushes.drop()
  }

  /** No new state is told from here on. */
  async rest(): Promise<void> {
    await this.taskEvents.stop()
  }

  async stop(): Promise<void> {
    await this.pushes.stop()
  }
}
