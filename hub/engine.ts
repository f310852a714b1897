/** The engine that keeps the rows of this hub; whoever works on a data directory asks it and no other. */
import type { StoreEngine } from './store/engine-port.ts'
import { sqliteEngine } from './store/sqlite/engine.ts'

export const engine: StoreEngine = sqliteEngine
