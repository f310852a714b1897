/** The memory of a hub that is one process: all of it goes with the process. */
import type { Memory } from '../ports/memory.ts'
import { ratesInProcess } from './rates.ts'

export const memoryInProcess = (): Memory => ({ rates: ratesInProcess() })
