// The types of the API's calls, taken from api.d.ts, which is generated.

import type { operations } from "./api.d.ts";

export type OperationName = Exclude<keyof operations, "show_metrics">;

/** Where the API takes a whole number, it may be a BigInt. */
type Whole<T> = T extends number ? number | bigint : T extends object ? { [Key in keyof T]: Whole<T[Key]> } : T;
type Given<T> = [T] extends [never] ? unknown : T;
type Part<T, Key extends string> = T extends { [K in Key]?: infer Found } ? Given<NonNullable<Found>> : unknown;
type Path<T> = Part<Part<T, "parameters">, "path">;
type Query<T> = Partial<Part<Part<T, "parameters">, "query">>;
type Body<T> = Part<T, "requestBody"> extends { content: { "application/json": infer Content } } ? Content : unknown;
type WithoutWallet<T> = T extends { wallet: unknown } ? Omit<T, "wallet"> & { wallet?: string } : T;

export type Parameters<Name extends OperationName> = Whole<WithoutWallet<Path<operations[Name]>> & Query<operations[Name]> & Body<operations[Name]>>;

type Json<T> = T extends { content: { "application/json": infer Content } } ? Content : never;
export type Data<Name extends OperationName> = operations[Name] extends { responses: { 200: infer Found } } ? Json<Found> : never;
