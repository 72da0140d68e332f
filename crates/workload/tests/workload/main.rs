//! Tests of traces, twins and generators, as one program.

mod corpus;
mod delimited;
mod file_systems;
mod generators;
mod kinds;
mod parser_properties;
mod synthetic;
mod traces;
mod twins;
mod volumes;
mod writing;
