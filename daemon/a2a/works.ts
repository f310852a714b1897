/** Everything behind the A2A interface, put together once it is first wanted: most nodes never load it. */
import type { Context } from '../context.ts'
import { CapabilityCalls, type CapabilityCallsNeeds } from './capability-calls.ts'
import type { ownCard } from './cards.ts'
import { MethodHandlers } from './method-handlers.ts'
import { PushConfigs } from './pushes.ts'
import { type Operations, Sending } from './sending.ts'
import { A2aServer, type ServerOptions } from './server.ts'
import { Service } from './service.ts'
import { TaskEvents, type TaskEventsNeeds } from './task-events.ts'

export type WorksNeeds = TaskEventsNeeds &
  CapabilityCallsNeeds &
  Pick<Context, 'settings' | 'timings' | 'contacts' | 'random' | 'notices'> &
  Parameters<typeof ownCard>[0]

export class Works {
  readonly #ctx: WorksNeeds
  readonly #taskEvents: TaskEvents
  readonly #pushes: PushConfigs
  readonly #service: Service
  #isFollowing = false

  /** `operations` are those of the node; `isPaidHere`: whether this build takes payments. */
  constructor(ctx: WorksNeeds, operations: Operations, isPaidHere: boolean) {
    const taskEvents = new TaskEvents(ctx, given => operations.end(given), isPaidHere)
    const capabilityCalls = new CapabilityCalls(ctx, taskEvents, isPaidHere)
    const sending = new Sending(ctx, { taskEvents, operations, capabilityCalls })
    const methodHandlers = new MethodHandlers(ctx, { taskEvents, operations })
    this.#ctx = ctx
    this.#taskEvents = taskEvents
    this.#pushes = new PushConfigs(ctx, taskEvents)
    this.#service = new Service(ctx, {
      methodHandlers,
      sending,
      capabilityCalls,
      taskEvents,
      pushes: this.#pushes,
    })
  }

  /** Follows what was begun, also while the interface is closed. */
  follow(): void {
    if (this.#isFollowing) return
    this.#isFollowing = true
    this.#taskEvents.start()
    this.#pushes.start()
  }

  server(options: Omit<ServerOptions, 'ctx' | 'service' | 'taskEvents'>): A2aServer {
    return new A2aServer({ ctx: this.#ctx, service: this.#service, taskEvents: this.#taskEvents, ...options })
  }

  /** Ends calls to addresses that are called no more. */
  dropPushes(): void {
    this.#pushes.drop()
  }

  /** No new state is told from here on. */
  async rest(): Promise<void> {
    await this.#taskEvents.stop()
  }

  async stop(): Promise<void> {
    await this.#pushes.stop()
  }
}
