/** When a part that works by itself does so: by the clocks of the machine and of its hub, and when it is woken. */
import type { Machine } from '../platform/machine.ts'
import type { Timings } from '../platform/timings.ts'
import type { Waker } from '../platform/waker.ts'

export type Pace = { machine: Machine; timings: Timings; hubNow: () => number; waker: Waker }
